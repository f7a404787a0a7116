package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/engines/mcpio/mount"
	"savant/fault"
)

func (p *program) engineApproveCommand() *cobra.Command {
	var yes bool
	command := &cobra.Command{Use: "approve NAME", Short: "See what changed in a mounted MCP server, and accept it",
		Long: "See what changed in a mounted MCP server since it was trusted, and accept it. How the server is started is shown\n" +
			"before it is started; then its tools are compared. It asks at a terminal; elsewhere --yes is needed.",
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return p.with(command.Context(), func(h *house) error { return p.approveServer(command.Context(), h, args[0], yes) })
		}}
	command.Flags().BoolVar(&yes, "yes", false, "accept without asking")
	return command
}

// approveServer shows what changed, in two steps, and asks after each.
func (p *program) approveServer(ctx context.Context, h *house, name string, yes bool) error {
	launch, err := h.mounts.ReviewLaunch(name)
	if err != nil {
		return err
	}
	if launch != "" {
		fmt.Fprintf(p.stdout, "%s is started in another way than was approved:\n\n%s\n", name, launch)
		if err := p.accepted(ctx, "Start it, to see its tools?", yes); err != nil {
			return err
		}
	}
	review, err := h.mounts.Review(ctx, name)
	if err != nil {
		return err
	}
	p.printReview(review)
	if review.Same() {
		return nil
	}
	switch err := p.accepted(ctx, "Accept this?", yes); {
	case err != nil && review.First: // who said no must not believe that it is kept out
		return fault.New(fault.ApprovalRequired, "%s; %s is trusted all the same when it is first used, unless .savant/mcp.json has \"disabled\": true for it",
			fault.From(err).Details, name)
	case err != nil:
		return err
	}
	if err := h.mounts.Accept(review); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "Accepted. %s is called as it is now.\n", name)
	return nil
}

func (p *program) printReview(review mount.Review) {
	for _, tool := range slices.Sorted(maps.Keys(review.Refused)) {
		fmt.Fprintf(p.stdout, "tool %s is left out: %s\n", visible(tool), visible(review.Refused[tool]))
	}
	switch {
	case review.Same():
		fmt.Fprintf(p.stdout, "%s is what was approved; there is nothing to accept.\n", review.Server)
		return
	case review.First:
		fmt.Fprintf(p.stdout, "%s was never seen before. Its tools:\n\n", review.Server)
	}
	for _, each := range review.Changes {
		fmt.Fprintf(p.stdout, "tool %s is %s:\n%s\n", each.Tool, each.Kind, each.Diff)
	}
}

// accepted returns nil when the person says yes, or said so beforehand.
func (p *program) accepted(ctx context.Context, question string, yes bool) error {
	if yes {
		return nil
	}
	nothing := fault.New(fault.ApprovalRequired, "nothing was accepted")
	if !isTerminal(p.stdin) {
		return fault.New(fault.ApprovalRequired, "nothing was accepted: ask a person to run this at a terminal, or give --yes")
	}
	said, err := p.ask(ctx, question+" [y/N] ")
	if err != nil {
		return nothing
	}
	switch strings.ToLower(said) {
	case "y", "yes":
		return nil
	}
	return nothing
}
