package maintenance

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"savant/fault"
	"savant/think/state"
)

// CopyInput selects what Copy copies.
type CopyInput struct {
	// Workflow and Run select runs; empty matches all.
	Workflow, Run string
	// Progress receives the progress; it may be nil.
	Progress func(done, total float64, message string)
}

// Copied says what Copy did.
type Copied struct {
	// Runs counts the runs examined. All but the Failed ones are now in both stores: New
	// were created, Same were already identical.
	Runs int `json:"runs"`
	New  int `json:"new"`
	Same int `json:"same"`
	// Records, Artifacts and Checkpoints were written; those that were there are not
	// counted.
	Records     int `json:"records"`
	Artifacts   int `json:"artifacts"`
	Checkpoints int `json:"checkpoints"`
	// Failed are the runs that were not copied, or not whole.
	Failed []CopyFailure `json:"failed"`
}

// CopyFailure is a run and why it was not copied.
type CopyFailure struct {
	Workflow string       `json:"workflow"`
	Run      string       `json:"run_id"`
	Error    *fault.Error `json:"error"`
}

// copiesAtOnce is how many runs are copied at the same time.
const copiesAtOnce = 8

// Copy copies runs from one store to another: records, artifacts and checkpoints, each
// verified in both. Records, and so their hashes, are identical byte for byte. Existing
// data is not written again, so an interrupted copy resumes and a repeated one adds what
// is new. A run that diverged in the other store is left unchanged: STATE_CONFLICT among
// the failures. Copy itself fails only if a store is unusable.
func Copy(ctx context.Context, from, to state.Backend, in CopyInput) (*Copied, error) {
	infos, err := from.List(ctx, state.Filter{Workflow: in.Workflow, Run: in.Run})
	if err != nil {
		return nil, err
	}
	c := &copying{from: from, to: to, out: Copied{Failed: []CopyFailure{}}}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(copiesAtOnce)
	for i, info := range infos {
		if within.Err() != nil {
			break
		}
		if in.Progress != nil {
			in.Progress(float64(i), float64(len(infos)), "copying runs")
		}
		group.Go(func() error { return c.run(within, info.Key()) })
	}
	if err = group.Wait(); err == nil && c.out.Runs < len(infos) {
		err = fault.New(fault.Internal, "the copy ended after %d of %d runs: %w", c.out.Runs, len(infos), context.Cause(ctx))
	}
	return &c.out, err
}

// copying is one Copy under way.
type copying struct {
	from, to state.Backend

	mu  sync.Mutex // guards what follows
	out Copied
}

// run copies one run. What is wrong with it is noted, so that the others are copied; a
// store that refuses ends the copy.
func (c *copying) run(ctx context.Context, key state.Key) error {
	one := &copyOfRun{copying: c, key: key}
	err := one.copy(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Runs++
	c.out.Records += one.records
	c.out.Artifacts += one.artifacts
	c.out.Checkpoints += one.checkpoints
	if one.began {
		c.out.New++
	}
	if err == nil && one.records+one.artifacts+one.checkpoints == 0 {
		c.out.Same++
	}
	if err == nil || errors.Is(err, fault.StateNotSaved) || ctx.Err() != nil {
		return err
	}
	c.out.Failed = append(c.out.Failed, CopyFailure{key.Workflow, key.Run, fault.From(err)})
	return nil
}

// copyOfRun is a run that is copied.
type copyOfRun struct {
	*copying
	key                             state.Key
	began                           bool
	records, artifacts, checkpoints int
}

func (c *copyOfRun) copy(ctx context.Context) error {
	records, err := c.from.Records(ctx, c.key, 0, 0)
	if err != nil {
		return err
	}
	present, err := c.to.Records(ctx, c.key, 0, 0)
	if err != nil && !errors.Is(err, fault.UnknownRun) {
		return err
	}
	for i, record := range present[:min(len(present), len(records))] {
		if record.Hash != records[i].Hash {
			return fault.New(fault.StateConflict, "run %s has different records in the two stores after version v%d: nothing was copied", c.key, i)
		}
	}
	if len(present) > len(records) {
		return fault.New(fault.StateConflict, "run %s is at version v%d there and at v%d here: copy it the other way", c.key, len(present), len(records))
	}
	if err := c.copyArtifacts(ctx, records); err != nil {
		return err
	}
	c.began = len(present) == 0
	if err := c.copyRecords(ctx, records, len(present)); err != nil {
		return err
	}
	if err := c.copyImported(ctx, records); err != nil {
		return err
	}
	if err := c.copyCheckpoints(ctx); err != nil {
		return err
	}
	return c.verify(ctx, records)
}

// copyArtifacts copies what the records name, before they are there. A present one is
// read, so that it is verified.
func (c *copyOfRun) copyArtifacts(ctx context.Context, records []state.Record) error {
	all, err := allReferences(records)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, each := range all {
		if seen[each.Digest] {
			continue
		}
		seen[each.Digest] = true
		if _, err := c.to.Artifact(ctx, each.Digest); err == nil {
			continue
		} else if !errors.Is(err, fault.StateCorrupt) {
			return err
		}
		data, err := c.from.Artifact(ctx, each.Digest)
		if err != nil {
			return err
		}
		if _, err := c.to.PutArtifact(ctx, data); err != nil {
			return err
		}
		c.artifacts++
	}
	return nil
}

// copyRecords appends the records after a version.
func (c *copyOfRun) copyRecords(ctx context.Context, records []state.Record, after int) error {
	for _, record := range records[after:] {
		made, err := c.to.Append(ctx, c.key, record)
		if err != nil {
			return err
		}
		if made.Hash != record.Hash {
			return fault.New(fault.Internal, "record %d of %s got another hash", record.Version, c.key)
		}
		c.records++
	}
	return nil
}

// copyImported keeps the note that records were made elsewhere.
func (c *copyOfRun) copyImported(ctx context.Context, records []state.Record) error {
	version, err := c.from.Imported(ctx, c.key)
	if err != nil || version == 0 || version > len(records) {
		return err
	}
	there, err := c.to.Imported(ctx, c.key)
	if err != nil || there == version {
		return err
	}
	return c.to.MarkImported(ctx, c.key, state.Link{Version: version, Hash: records[version-1].Hash})
}

// copyCheckpoints copies the named checkpoints and the readable snapshot.
func (c *copyOfRun) copyCheckpoints(ctx context.Context) error {
	named, err := c.from.Checkpoints(ctx, c.key)
	if err != nil {
		return err
	}
	for _, each := range append(named, state.CheckpointInfo{}) {
		snapshot, err := c.from.Load(ctx, c.key, each.Name)
		if err != nil {
			return err
		}
		present, err := c.to.Load(ctx, c.key, each.Name)
		if err != nil && !errors.Is(err, fault.CheckpointNotFound) {
			return err
		}
		if snapshot.Version == 0 || snapshot.Record == present.Record && snapshot.Hash == present.Hash {
			continue
		}
		if err := c.to.Save(ctx, c.key, each.Name, snapshot); err != nil {
			return err
		}
		if each.Name != "" {
			c.checkpoints++
		}
	}
	return nil
}

// verify reads the run back: its chain is verified, and its end has to be the same.
func (c *copyOfRun) verify(ctx context.Context, records []state.Record) error {
	present, err := c.to.Records(ctx, c.key, 0, 0)
	if err != nil {
		return err
	}
	last := len(records) - 1
	if len(present) < len(records) || present[last].Hash != records[last].Hash {
		return fault.New(fault.StateCorrupt, "run %s is not the same after it was copied: %d records, expected %d", c.key, len(present), len(records))
	}
	return nil
}
