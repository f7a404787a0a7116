// Package workflows holds the commands that list, check and run workflows, and answer
// their steps.
package workflows

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/think/library"
)

// program is the command line in this package.
type program struct{ *cli.Program }

// Command is `savant workflows`, with the commands of others that belong there.
func Command(shared *cli.Program, others ...*cobra.Command) *cobra.Command {
	p := &program{shared}
	command := cli.Group("workflows", "List, read, check and run workflows, and answer their steps", p.workflowsListCommand(), p.workflowsReadCommand(), p.newCommand(), p.validateCommand(), p.testCommand(), p.recordCommand(), p.dryCommand(), p.graphCommand(),
		p.workflowsRunCommand(), p.workflowsAnswerCommand())
	command.AddCommand(others...)
	command.Aliases = []string{"workflow"}
	return command
}

func (p *program) workflowsListCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "list [FILTER]", Short: "List workflows with their parameters", Args: cli.Positional(cobra.MaximumNArgs(1)),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			return p.listWorkflows(ctx, a, library.CatalogInput{Filter: strings.Join(args, "")})
		})})
}

func (p *program) listWorkflows(ctx context.Context, a *app.App, in library.CatalogInput) error {
	if _, err := a.Packages().Lock(); err != nil { // else each workflow says so
		return err
	}
	list, err := a.Think.Library.Catalog(ctx, in)
	if err != nil || p.JSON {
		return p.Printed(list, err)
	}
	if list.Note != "" {
		fmt.Fprintf(p.Stderr, "savant: warning: %s\n", terminal.Visible(list.Note))
	}
	return terminal.Table(p.Stdout, []string{"WORKFLOW", "VERSION", "ORIGIN", "PARAMETERS", "ABOUT"}, list.Workflows, func(workflow library.CatalogEntry) []string {
		about := workflow.Desc
		if workflow.Error != "" {
			about = "not valid: " + workflow.Error
		}
		if workflow.Held != "" {
			about = "(" + workflow.Held + " is not used until savant trust accepts it) " + about // first, since a terminal truncates the end
		}
		return []string{workflow.ID, workflow.Version, origin(workflow), parameters(workflow.Params), strings.ReplaceAll(about, "\n", " ")}
	})
}

// origin says where a workflow comes from.
func origin(workflow library.CatalogEntry) string {
	if workflow.Replaces {
		return workflow.Origin + ", replaces"
	}
	return workflow.Origin
}

// parameters lists a workflow's parameters, optional ones in brackets.
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
	return p.JSONFlag(&cobra.Command{Use: "read NAME", Short: "Print a workflow's YAML; with --json also its parsed form and graph",
		Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			read, err := a.Think.Library.Read(ctx, library.ReadInput{Workflow: args[0]})
			if err != nil || p.JSON {
				return p.Printed(read, err)
			}
			text := strings.TrimSuffix(read.YAML, "\n") + "\n"
			if terminal.IsTerminal(p.Stdout) { // a file gets the workflow unchanged
				text = terminal.Content(text)
			}
			_, err = fmt.Fprint(p.Stdout, text)
			return err
		})})
}
