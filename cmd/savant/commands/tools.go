package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/fault"
	"savant/internal/settings"
)

func (p *program) toolsCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "tools [NAME]", Short: "List the tools that are published, or describe one", Args: cli.Positional(cobra.MaximumNArgs(1)),
		Long: "List the tools that are published: with --json, exactly what tools/list answers.\n" +
			"With a name, show the tool's arguments, the fields of its result, an example, and\nthe step of a workflow that calls it; with the name of an engine, its tools.",
		Example: "  savant tools git.log",
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			a.SayUnused("server:") // their tools are missing
			if len(args) == 1 {
				return p.describeTool(ctx, a, args[0])
			}
			return p.listTools(ctx, a)
		})})
}

func (p *program) listTools(ctx context.Context, a *app.App) error {
	published, err := a.Published()
	if err != nil {
		return err
	}
	if err := a.AwaitServers(ctx, published); err != nil {
		return err
	}
	if p.JSON {
		server, err := a.Server(ctx, published, nil)
		if err != nil {
			return err
		}
		list, err := server.List()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Stdout, "%s\n", list)
		return err
	}
	return p.tableOfTools(published.Tools())
}

func (p *program) tableOfTools(tools []engines.Tool) error {
	return terminal.Table(p.Stdout, []string{"TOOL", "ABOUT"}, tools, func(tool engines.Tool) []string {
		first, _, _ := strings.Cut(tool.Description, ". ")
		return []string{tool.Name, strings.TrimSuffix(first, ".")}
	})
}

func (p *program) callCommand() *cobra.Command {
	var arguments string
	command := &cobra.Command{Use: "call TOOL [--args JSON|@FILE|-]", Short: "Call one tool and print its result as JSON",
		Long:    "Call one tool and print its result as JSON. A tool's name may be written with dots or underscores.",
		Args:    cli.Positional(cobra.ExactArgs(1)),
		Example: `  savant call think.plan --args '{"workflow": "hello"}'`,
		RunE: func(command *cobra.Command, args []string) error {
			raw, err := p.ArgumentsOf("--args", arguments)
			if err != nil {
				return err
			}
			return p.With(command.Context(), func(a *app.App) error { return p.call(command.Context(), a, args[0], raw) })
		}}
	command.Flags().StringVar(&arguments, "args", "{}", "the arguments: JSON, @FILE to read them from a file, - from stdin")
	return p.JSONFlag(command)
}

func (p *program) call(ctx context.Context, a *app.App, tool string, args json.RawMessage) error {
	published, err := a.Published()
	if err != nil {
		return err
	}
	if _, shown := published.Resolve(tool); !shown {
		if hidden, there := a.Tools.Resolve(tool); there {
			return fault.New(fault.UnknownTool, "%s is a tool of the engine %s, %w %s: %s",
				hidden.Name, engines.EngineOf(hidden.Name), cli.ErrNotPublished, settings.EnvServices, strings.Join(p.Settings.Services, ", "))
		}
	}
	tell, end := terminal.ProgressOf(p.Stderr, p.Variable, tool)
	result, err := published.Invoke(ctx, engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "command", Name: "local"}, Progress: tell}}, tool, args)
	end()
	if err != nil && result.Receipt != "" {
		return fault.From(err).Attach(engines.ReceiptKey, result.Receipt)
	}
	if err != nil {
		return err
	}
	return p.Print(result.Annotated(result.JSON))
}
