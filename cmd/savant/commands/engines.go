package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/engines/mount"
	"savant/fault"
	"savant/internal/trust"
)

func (p *program) enginesCommand() *cobra.Command {
	return cli.Group("engines", "List the engines and their status", p.enginesListCommand(), p.enginesStatusCommand(), p.engineApproveCommand())
}

// listedEngine is an engine in `savant engines list --json`.
type listedEngine struct {
	Engine      string   `json:"engine"`
	Description string   `json:"description,omitempty"`
	Tools       []string `json:"tools"`
}

func (p *program) enginesListCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "list", Short: "List the engines and their tools; nothing is started", Args: cli.Positional(cobra.NoArgs),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, _ []string) error { return p.listEngines(a) })})
}

func (p *program) listEngines(a *app.App) error {
	list := []listedEngine{}
	for _, name := range a.Tools.Engines() {
		each := listedEngine{Engine: name, Description: a.Tools.About(name), Tools: []string{}}
		for _, tool := range a.Tools.Engine(name) {
			each.Tools = append(each.Tools, tool.Name)
		}
		list = append(list, each)
	}
	if p.JSON {
		return p.Print(map[string]any{"engines": list})
	}
	return terminal.Table(p.Stdout, []string{"ENGINE", "TOOLS", "ABOUT"}, list, func(each listedEngine) []string {
		return []string{each.Engine, terminal.Count(len(each.Tools), "tool"), each.Description}
	})
}

func (p *program) enginesStatusCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "status", Short: "Ask every engine for its status", Args: cli.Positional(cobra.NoArgs),
		Long: "Ask every engine for its status: ready, idle (it starts with the first call), offline or disabled, with the reason.",
		RunE: p.OnLook(func(ctx context.Context, a *app.App, _ []string) error {
			return p.showHealth(ctx, a)
		})})
}

func (p *program) showHealth(ctx context.Context, a *app.App) error {
	if err := a.AwaitServers(ctx, a.Tools); err != nil {
		return err
	}
	all := a.Tools.Health(ctx)
	if p.JSON {
		return p.Print(map[string]any{"engines": all, "problems": a.Mounts.Problems()})
	}
	return terminal.Table(p.Stdout, []string{"ENGINE", "STATE", "TOOLS", "ABOUT"}, all, func(each engines.Health) []string {
		about := cmp.Or(each.Reason, each.Description)
		if each.Left > 0 {
			about = terminal.Count(each.Left, "call") + " left behind; " + about
		}
		return []string{each.Engine, each.State, terminal.Count(len(each.Tools), "tool"), about}
	})
}

func (p *program) engineApproveCommand() *cobra.Command {
	var yes bool
	command := &cobra.Command{Use: "approve NAME", Short: "See what changed in a mounted MCP server, and accept it",
		Long: "See what changed in a mounted MCP server since it was trusted, and accept it. How the server is started is shown\n" +
			"before it is started; then its tools are compared. It asks at a terminal; elsewhere --yes is needed.",
		Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, args []string) error {
			return p.approveServer(ctx, a, args[0], yes)
		})}
	command.Flags().BoolVar(&yes, "yes", false, "accept without asking")
	return command
}

// approveServer shows how the server is started, and then the changes of its tools, and
// asks about each. It stores a refusal of the server.
func (p *program) approveServer(ctx context.Context, a *app.App, name string, yes bool) error {
	part, refused, err := a.Mounts.Part(name)
	if err != nil {
		return err
	}
	if refused != nil {
		p.showPart(part, notes[p.Loaded.Folder.AnswerTo(part)])
		if err := p.accepted(ctx, "Trust it, and start it to see its tools?", yes, part); err != nil {
			return err
		}
		if err := p.Loaded.Folder.Accept(part); err != nil {
			return err
		}
		a.Mounts.Reload()
	}
	review, err := a.Mounts.Review(ctx, name)
	if err != nil {
		return err
	}
	p.printReview(review)
	if review.IsUnchanged() {
		return nil
	}
	var unseen []trust.Part
	if review.First {
		unseen = append(unseen, part) // a refusal concerns the whole server
	}
	if err := p.accepted(ctx, "Accept this?", yes, unseen...); err != nil {
		return err
	}
	if err := a.Mounts.Accept(review); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "Accepted. Savant now calls %s with this definition.\n", name)
	return nil
}

func (p *program) printReview(review mount.Review) {
	for _, tool := range slices.Sorted(maps.Keys(review.Refused)) {
		fmt.Fprintf(p.Stdout, "tool %s is left out: %s\n", terminal.Visible(tool), terminal.Visible(review.Refused[tool]))
	}
	switch {
	case review.IsUnchanged():
		fmt.Fprintf(p.Stdout, "%s has not changed since it was approved; there is nothing to accept.\n", review.Server)
		return
	case review.First:
		fmt.Fprintf(p.Stdout, "%s is new. Its tools:\n\n", review.Server)
	}
	for _, each := range review.Changes {
		fmt.Fprintf(p.Stdout, "tool %s is %s:\n%s\n", each.Tool, each.Kind, each.Diff)
	}
}

// accepted returns nil if the person says yes, or said so with --yes. It stores a
// refusal of these parts.
func (p *program) accepted(ctx context.Context, question string, yes bool, parts ...trust.Part) error {
	agreed, err := p.agrees(ctx, question, yes)
	switch {
	case errors.Is(err, errNobody):
		return fault.New(fault.ApprovalRequired, "nothing was accepted: ask a person to run this at a terminal, or give --yes")
	case err != nil:
		return err
	case agreed:
		return nil
	case len(parts) == 0:
		return fault.New(fault.ApprovalRequired, "nothing was accepted")
	}
	if err := p.Loaded.Folder.Refuse(parts...); err != nil {
		return err
	}
	return fault.New(fault.ApprovalRequired, "nothing was accepted, and your no was recorded: %s is not used; savant trust asks again", parts[0])
}
