package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/think/library"
)

func (p *program) workflowsCommand() *cobra.Command {
	return group("workflows", "List, read, check and run workflows, and answer their steps", p.workflowsListCommand(), p.workflowsReadCommand(), p.validateCommand(),
		p.workflowsRunCommand(), p.workflowsAnswerCommand())
}

func (p *program) workflowsListCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{Use: "list [FILTER]", Short: "List workflows with their parameters", Args: positional(cobra.MaximumNArgs(1)),
		RunE: p.onApp(func(ctx context.Context, a *app.App, args []string) error {
			return p.listWorkflows(ctx, a, library.CatalogInput{Filter: strings.Join(args, "")})
		})})
}

func (p *program) listWorkflows(ctx context.Context, a *app.App, in library.CatalogInput) error {
	list, err := a.Think.Library.Catalog(ctx, in)
	if err != nil || p.json {
		return p.printed(list, err)
	}
	table := terminal.NewTable(p.stdout)
	for _, workflow := range list.Workflows {
		about := workflow.Desc
		if workflow.Error != "" {
			about = "not valid: " + workflow.Error
		}
		table.Row(workflow.ID, workflow.Version, parameters(workflow.Params), strings.ReplaceAll(about, "\n", " "))
	}
	if list.Note != "" {
		fmt.Fprintf(p.stderr, "savant: warning: %s\n", terminal.Visible(list.Note))
	}
	return table.Flush()
}

// parameters names the parameters of a workflow, those that may be left out in
// brackets.
func parameters(params map[string]any) string {
	var required, optional []string
	for name, each := range params {
		described, _ := each.(map[string]any)
		if described["required"] == true {
			required = append(required, name)
		} else {
			optional = append(optional, "["+name+"]")
		}
	}
	slices.Sort(required)
	slices.Sort(optional)
	return strings.Join(append(required, optional...), " ")
}

func (p *program) workflowsReadCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{Use: "read NAME", Short: "Print a workflow's YAML; with --json also its parsed form and graph",
		Args: positional(cobra.ExactArgs(1)),
		RunE: p.onApp(func(ctx context.Context, a *app.App, args []string) error {
			read, err := a.Think.Library.Read(ctx, library.ReadInput{Workflow: args[0]})
			if err != nil || p.json {
				return p.printed(read, err)
			}
			_, err = fmt.Fprint(p.stdout, strings.TrimSuffix(read.YAML, "\n")+"\n")
			return err
		})})
}
