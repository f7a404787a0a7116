// Package maintenance checks, repairs, prunes and moves runs.
package maintenance

import (
	"context"
	"errors"
	"slices"
	"time"

	"savant/fault"
	"savant/think"
	"savant/think/state"
)

// Keeper maintains the runs of a folder: it checks, repairs, prunes and moves them,
// combining the store's view of files with the engine's view of records. It is safe for
// concurrent use, also with the engine.
type Keeper struct {
	engine *think.Engine
	dir    state.Backend
	// importing is held by the import that runs: its memory is bounded, and that of two
	// at once would be twice as much.
	importing chan struct{}
}

// New returns the keeper of an engine's runs; dir is its store.
func New(engine *think.Engine, dir state.Backend) *Keeper {
	return &Keeper{engine, dir, make(chan struct{}, 1)}
}

// History returns the records of a run, oldest first, also those that a reset
// left behind. It needs no replay. UNKNOWN_RUN, STATE_CORRUPT.
func (k *Keeper) History(ctx context.Context, key state.Key) ([]think.Event, error) {
	records, err := k.dir.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, err
	}
	events, _, err := k.engine.Events(ctx, key, records)
	return events, err
}

// PruneInput selects what Prune removes.
type PruneInput struct {
	// OlderThan is how long ago a run changed last, or went to the trash.
	OlderThan time.Duration
	// DryRun only lists what would be removed.
	DryRun bool
	// Purge also erases what is in the trash for so long.
	Purge bool
	// Open also takes runs that have not ended, but for those in Driven.
	Open   bool
	Driven []state.Key
	// Progress is told how far it is; it may be nil.
	Progress func(done, total float64, message string)
}

func (in PruneInput) tell(done, total int, message string) {
	if in.Progress != nil {
		in.Progress(float64(done), float64(total), message)
	}
}

// Pruned says what Prune removed.
type Pruned struct {
	// Runs were moved to the trash.
	Runs []state.Info `json:"runs"`
	// Purged were erased from the trash.
	Purged []state.Trashed `json:"purged"`
	// Collected counts the unreferenced artifacts.
	Collected state.Collected `json:"swept"`
	// DryRun says that nothing was removed.
	DryRun bool `json:"dry_run"`
}

// artifactGrace is how long an artifact may exist before a record names it. A
// plan or a result takes far less, also where a person is asked in between. What no record
// ever names, as the prompts of steps, lives as long as the runs that are kept.
const artifactGrace = 24 * time.Hour

// Prune moves finished runs older than a given age to the trash, empties the trash if
// asked, and removes unreferenced artifacts. It keeps unfinished and damaged runs,
// whatever their age. First it completes moves that a killed process left unfinished.
func (k *Keeper) Prune(ctx context.Context, in PruneInput) (*Pruned, error) {
	before := k.engine.Now().Add(-in.OlderThan)
	out := &Pruned{Runs: []state.Info{}, Purged: []state.Trashed{}, DryRun: in.DryRun}
	if in.Purge {
		if err := k.purge(ctx, before, in, out); err != nil {
			return out, err
		}
	}
	if !in.DryRun {
		if _, err := k.dir.FinishMoves(ctx); err != nil {
			return out, err
		}
	}
	infos, err := k.dir.List(ctx, state.Filter{})
	if err != nil {
		return out, err
	}
	for i, info := range infos {
		in.tell(i, len(infos), "pruning runs")
		if !in.takes(info) || !olderThan(info.Updated, before) {
			continue
		}
		if err := k.pruneRun(ctx, info, in.DryRun); errors.Is(err, fault.StateConflict) || errors.Is(err, fault.UnknownRun) {
			continue // it went on, or went, while this was looking
		} else if err != nil {
			return out, err
		}
		out.Runs = append(out.Runs, info)
	}
	in.tell(0, 0, "looking for artifacts that no run refers to")
	out.Collected, err = k.dir.GCArtifacts(ctx, max(artifactGrace, in.OlderThan), in.DryRun)
	return out, err
}

func (k *Keeper) pruneRun(ctx context.Context, info state.Info, dry bool) error {
	if dry {
		return nil
	}
	key := state.Key{Workflow: info.Workflow, Run: info.Run}
	return k.engine.Alone(key, func() error { return k.dir.DeleteAt(ctx, key, info.Version) })
}

func (k *Keeper) purge(ctx context.Context, before time.Time, in PruneInput, out *Pruned) error {
	items, err := k.dir.Trash(ctx)
	if err != nil {
		return err
	}
	for i, item := range items {
		in.tell(i, len(items), "emptying the trash")
		if !olderThan(item.Moved, before) {
			continue
		}
		if !out.DryRun {
			if err := k.dir.GCTrash(ctx, item); err != nil {
				return err
			}
		}
		out.Purged = append(out.Purged, item)
	}
	return nil
}

// takes reports whether a run of that age is pruned. Damaged runs stay.
func (in PruneInput) takes(info state.Info) bool {
	return finished(info) || in.Open && info.Status != state.StatusDamaged && !slices.Contains(in.Driven, info.Key())
}

// finished reports whether nothing more is expected of a run.
func finished(info state.Info) bool {
	return slices.Contains([]string{"done", "failed", "cancelled"}, info.Status)
}

// olderThan reports whether a time is before another; one that cannot be read
// is not.
func olderThan(text string, before time.Time) bool {
	at, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && at.Before(before)
}
