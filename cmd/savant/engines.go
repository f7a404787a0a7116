package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func (p *program) enginesCommand() *cobra.Command {
	return group("engines", "List the engines, and say how they are", p.enginesListCommand(), p.enginesStatusCommand(), p.engineApproveCommand())
}

// listedEngine is an engine as `savant engines list --json` shows it.
type listedEngine struct {
	Engine      string   `json:"engine"`
	Description string   `json:"description,omitempty"`
	Tools       []string `json:"tools"`
}

func (p *program) enginesListCommand() *cobra.Command {
	command := &cobra.Command{Use: "list", Short: "List the engines and their tools; nothing is started", Args: positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			return p.with(command.Context(), func(h *house) error { return p.listEngines(h) })
		}}
	p.jsonFlag(command)
	return command
}

func (p *program) listEngines(h *house) error {
	list := []listedEngine{}
	for _, name := range h.tools.Engines() {
		each := listedEngine{Engine: name, Description: h.tools.About(name), Tools: []string{}}
		for _, tool := range h.tools.Engine(name) {
			each.Tools = append(each.Tools, tool.Name)
		}
		list = append(list, each)
	}
	if p.json {
		return p.print(map[string]any{"engines": list})
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, each := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\n", visible(each.Engine), count(len(each.Tools), "tool"), visible(each.Description))
	}
	return table.Flush()
}

func (p *program) enginesStatusCommand() *cobra.Command {
	command := &cobra.Command{Use: "status", Short: "Ask every engine how it is", Args: positional(cobra.NoArgs),
		Long: "Ask every engine how it is: ready, idle (it starts with the first call), offline or disabled, with the reason.",
		RunE: func(command *cobra.Command, _ []string) error {
			return p.with(command.Context(), func(h *house) error { return p.showHealth(command.Context(), h) })
		}}
	p.jsonFlag(command)
	return command
}

func (p *program) showHealth(ctx context.Context, h *house) error {
	if err := h.awaitServers(ctx, h.tools); err != nil {
		return err
	}
	all := h.tools.Health(ctx)
	if p.json {
		return p.print(map[string]any{"engines": all, "problems": h.mounts.Problems()})
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, each := range all {
		about := each.Reason
		if about == "" {
			about = each.Description
		}
		if each.Left > 0 {
			about = count(each.Left, "call") + " left behind; " + about
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", visible(each.Engine), each.State, count(len(each.Tools), "tool"), visible(about))
	}
	return table.Flush()
}

// healthPatience bounds what asking the engines may add to a start: clients give
// up on a server that is silent for seconds.
const healthPatience = 250 * time.Millisecond

// logHealth writes one line of how the published engines are.
func (h *house) logHealth(ctx context.Context, services []string) {
	published, err := h.published(services)
	if err != nil {
		return // who serves has said so
	}
	asking, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	var states []any
	for _, each := range published.Health(asking) {
		state := each.State
		if each.Reason != "" {
			state += ": " + each.Reason
		}
		if each.Left > 0 {
			state += ", " + count(each.Left, "call") + " left behind"
		}
		states = append(states, each.Engine, state)
	}
	h.logger.InfoContext(ctx, "engines", states...)
}
