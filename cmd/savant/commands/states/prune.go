package states

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"savant/agent"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines/repo/index"
	"savant/fault"
	"savant/internal/claim"
	"savant/think/flow"
	"savant/think/maintenance"
	"savant/think/state"
)

func (p *program) statePruneCommand() *cobra.Command {
	var in maintenance.PruneInput
	var age string
	var caches bool
	command := &cobra.Command{Use: "prune {--older-than AGE | --caches}", Short: "Move old finished runs to the trash",
		Long: "Move finished runs to the trash that last changed longer than AGE ago (30d, 2w, 12h), and remove\n" +
			"artifacts that no run refers to and claims that nobody holds. Running and damaged runs stay.\n\n" +
			"With --purge also permanently erase what has been in the trash for longer than AGE, and runs of the agent that ended\n" +
			"and last changed longer than AGE ago. --caches goes alone: it removes only what the next search makes again.",
		Args: cli.Positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) (err error) {
			if caches {
				return p.pruneCaches(in.DryRun)
			}
			if in.OlderThan, err = cli.Age("--older-than", age); err != nil {
				return err
			}
			p.Open.Looking = in.DryRun
			return p.With(command.Context(), func(a *app.App) error {
				infos, err := a.Store.List(command.Context(), state.Filter{})
				if err != nil {
					return err
				}
				for _, each := range infos {
					if in.Open && a.IsDriven(each.Key()) {
						in.Driven = append(in.Driven, each.Key())
					}
				}
				tell, end := terminal.ProgressOf(p.Stderr, p.Variable, "prune")
				if terminal.IsTerminal(p.Stderr) {
					in.Progress = tell
				}
				kept, err := a.Keeper().Prune(command.Context(), in)
				end()
				if err != nil {
					return err
				}
				if !in.DryRun {
					if err := a.ForgetDrivers(command.Context(), kept.Purged); err != nil {
						return err
					}
				}
				unfinished, err := unfinishedRuns(command.Context(), a)
				if err != nil {
					return err
				}
				claims, err := claim.GC(command.Context(), a.Root, unfinished, in.DryRun)
				done := &pruned{Pruned: kept, Claims: claims, Agent: []agent.Pruned{}}
				if err == nil && in.Purge {
					done.Agent, err = a.Agent.Prune(command.Context(), time.Now().Add(-in.OlderThan), in.DryRun)
				}
				return errors.Join(p.printPruned(done), err)
			})
		}}
	command.Flags().StringVar(&age, "older-than", "", "how long ago: days (30d), weeks (2w) or a duration such as 12h")
	command.Flags().BoolVar(&in.DryRun, "dry-run", false, "only list what would be removed")
	command.Flags().BoolVar(&in.Open, "open", false, "also move runs that have not ended and that no process drives")
	command.Flags().BoolVar(&caches, "caches", false, "remove the indexes of folders that are gone, from your cache folder")
	command.Flags().BoolVar(&in.Purge, "purge", false, "also erase what has been in the trash for that long")
	command.MarkFlagsMutuallyExclusive("caches", "older-than")
	command.MarkFlagsMutuallyExclusive("caches", "purge")
	command.MarkFlagsMutuallyExclusive("caches", "open")
	return p.JSONFlag(command)
}

// pruneCaches removes what no search uses from the user's cache folder.
func (p *program) pruneCaches(dryRun bool) error {
	removed := []index.Unused{}
	if cache := index.UsersCache(); cache != "" {
		found, err := index.Prune(cache, dryRun)
		if err != nil {
			return fault.New(fault.ToolFailed, "the indexes: %w", err)
		}
		removed = append(removed, found...)
	}
	if p.JSON {
		return p.Print(map[string]any{"indexes": removed, "dry_run": dryRun})
	}
	bytes, did := int64(0), map[bool]string{false: "removed", true: "would be removed"}[dryRun]
	for _, each := range removed {
		bytes += each.Bytes
		fmt.Fprintf(p.Stdout, "index of %s: %s\n", cmp.Or(terminal.Visible(each.Folder), "an unknown folder, from an earlier version"), did)
	}
	_, err := fmt.Fprintf(p.Stdout, "indexes of %s, %d bytes, %s\n", terminal.Count(len(removed), "folder"), bytes, did)
	return err
}

// unfinishedRuns returns the runs that can continue. A claim left by a killed process
// shows that its run was interrupted.
func unfinishedRuns(ctx context.Context, a *app.App) (names []string, err error) {
	infos, err := a.Store.List(ctx, state.Filter{})
	for _, each := range infos {
		if each.Status == string(flow.Running) || each.Status == string(flow.Waiting) {
			names = append(names, each.Key().String())
		}
	}
	return names, err
}

// pruned is what a prune removed, or would remove.
type pruned struct {
	*maintenance.Pruned
	// Claims are left by processes that were killed.
	Claims int `json:"claims"`
	// Agent are runs of the agent, which have no trash.
	Agent []agent.Pruned `json:"agent"`
}

func (p *program) printPruned(pruned *pruned) error {
	if p.JSON {
		return p.Print(pruned)
	}
	moved, erased, removed := "moved to the trash", "erased", "removed"
	if pruned.DryRun {
		moved, erased, removed = "would be moved to the trash", "would be erased", "would be removed"
	}
	now := time.Now()
	for _, each := range pruned.Runs {
		fmt.Fprintf(p.Stdout, "%s/%s, %s, last changed %s: %s\n", each.Workflow, each.Run, each.Status, terminal.When(each.Updated, now), moved)
	}
	for _, each := range pruned.Purged {
		fmt.Fprintf(p.Stdout, "%s: %s\n", terminal.Visible(each.Folder), erased)
	}
	for _, each := range pruned.Agent {
		fmt.Fprintf(p.Stdout, "run %s of the agent, %s, last changed %s: %s\n", each.RunID, each.Status, terminal.When(each.Updated, now), erased)
	}
	if pruned.Claims > 0 {
		fmt.Fprintf(p.Stdout, "%s of processes that were killed: %s\n", terminal.Count(pruned.Claims, "claim"), removed)
	}
	_, err := fmt.Fprintf(p.Stdout, "%s %s, %s %s, %s (%d bytes) %s\n", terminal.Count(len(pruned.Runs), "run"), moved,
		terminal.Count(len(pruned.Purged), "folder"), erased, terminal.Count(pruned.Collected.Artifacts, "artifact"), pruned.Collected.Bytes, removed)
	return err
}

func (p *program) stateRestoreCommand() *cobra.Command {
	var workflow string
	command := &cobra.Command{Use: "restore RUN", Short: "Bring back a run from the trash", Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, args []string) error {
			run, err := a.FindDeleted(ctx, workflow, args[0])
			key := run.Key()
			if err == nil {
				err = a.Store.Undelete(ctx, key)
			}
			if err != nil || p.JSON {
				return p.Printed(map[string]string{"workflow": key.Workflow, "run_id": key.Run}, err)
			}
			_, err = fmt.Fprintf(p.Stdout, "%s is back\n", key)
			return err
		})}
	command.Flags().StringVar(&workflow, "workflow", "", "the run's workflow, if the run id is not unique")
	return p.JSONFlag(command)
}
