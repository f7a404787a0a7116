package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"savant/engines"
	"savant/engines/guide"
	"savant/engines/mcpio"
	"savant/internal/jsonvalue"
)

func (p *program) mcpCommand() *cobra.Command {
	return &cobra.Command{Use: "mcp", Short: "Serve MCP on stdin and stdout", Args: positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error { return p.serve(command.Context()) }}
}

// serve answers one client until its stream or ctx ends.
func (p *program) serve(ctx context.Context) error {
	p.serving = true
	// Whoever ends first, the client or a signal, closing must not take long.
	closing, close := context.WithCancel(ctx)
	defer close()
	return p.with(closing, func(h *house) error {
		defer close()
		h.serving = true
		server, err := p.server(ctx, h)
		if err != nil {
			return err
		}
		h.tendServers(closing, p.settings.Services)
		h.logger.Info("serving MCP", "engines", p.settings.Services, "version", programVersion())
		h.logHealth(closing, p.settings.Services)
		err = p.serveClient(ctx, server)
		h.logger.Info("stopped", "signal", ctx.Err() != nil)
		return err
	})
}

// server publishes the engines of MCP_SERVICE.
func (p *program) server(ctx context.Context, h *house) (*mcpio.Server, error) {
	published, err := h.published(p.settings.Services)
	if err != nil {
		return nil, err
	}
	var offer engines.Offer // prompts and resources are Think's
	if slices.Contains(published.Engines(), "think") {
		if offer, err = guide.Catalog(ctx, h.think); err != nil {
			return nil, err
		}
		offer.ReadResource = withAdvice(offer.ReadResource)
	}
	return mcpio.New(mcpio.Options{
		Name:       "savant",
		Title:      "Savant",
		Version:    programVersion(),
		Registry:   published,
		BeforeList: h.mounts.Reload,
		Offer:      offer,
		Logger:     h.logger,
		ToolNames:  p.settings.ToolNames,
		SlowCall:   p.settings.SlowCall,
		Order:      byRun,
		Trace:      h.trace(),
	})
}

// byRun keeps the calls of one run in the order they came. A run is named by
// its id alone: two workflows with one run id wait for each other, no harm.
func byRun(_ string, args json.RawMessage) string { return jsonvalue.TextMember(args, "run_id") }
