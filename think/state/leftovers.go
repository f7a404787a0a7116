package state

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Keys returns every run that has a file here, also one whose journal is gone,
// by workflow and name.
func (d *Dir) Keys(ctx context.Context) ([]Key, error) {
	workflows, err := d.workflows("")
	if err != nil {
		return nil, err
	}
	keys := []Key{}
	for _, workflow := range slices.Sorted(slices.Values(workflows)) {
		folder := runsFolder(workflow)
		if ctx.Err() != nil {
			return nil, interrupted(ctx, folder)
		}
		names, err := d.disk.Names(folder)
		if err != nil && !absent(err) {
			return nil, notRead(folder, err)
		}
		for _, run := range runsAmong(names) {
			keys = append(keys, Key{workflow, run})
		}
	}
	return keys, nil
}

// Find implements Store: a run is found by any of its files.
func (d *Dir) Find(ctx context.Context, run string) ([]Key, error) {
	workflows, err := d.workflows("")
	if err != nil || validateName("run_id", run) != nil {
		return nil, err
	}
	var keys []Key
	for _, workflow := range slices.Sorted(slices.Values(workflows)) {
		if ctx.Err() != nil {
			return nil, interrupted(ctx, runsFolder(workflow))
		}
		key := Key{workflow, run}
		_, err := d.disk.Stat(journalName(key))
		if err != nil && !absent(err) {
			return nil, notRead(journalName(key), err)
		}
		if err == nil || d.orphan(key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// runsAmong returns the runs that the files of a folder belong to.
func runsAmong(names []string) []string {
	runs := withSuffix(names, journalSuffix)
	for _, suffix := range []string{jsonSuffix, checkpointSuffix} {
		runs = append(runs, withSuffix(names, suffix)...)
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

// orphan reports whether a run without a journal has other files: its journal
// was lost, or a deletion was interrupted.
func (d *Dir) orphan(key Key) bool {
	_, err := d.disk.Stat(snapshotName(key))
	checkpoints, _ := d.disk.Names(checkpointFolder(key))
	return err == nil || len(checkpoints) > 0
}

// gcLater removes stale temporary files a moment after the store was opened:
// a program that is over by then has no use for it, and one that starts has
// better things to do first.
func (d *Dir) gcLater() {
	ctx, cancel := context.WithCancel(context.Background())
	var under sync.WaitGroup
	under.Add(1)
	timer := time.AfterFunc(sweepDelay, func() {
		defer under.Done()
		_, _ = d.SweepTemporary(ctx) // what stays is in nobody's way
	})
	d.endGC = func() {
		cancel()
		if timer.Stop() {
			under.Done()
		}
		under.Wait()
	}
}

const sweepDelay = time.Second

// SweepTemporary removes what interrupted replacements left, and returns how
// many files: those that nobody has written to for an hour.
func (d *Dir) SweepTemporary(ctx context.Context) (removed int, err error) {
	for _, top := range []string{stateFolder, artifactFolder, receiptFolder} {
		count, err := d.sweepFolder(ctx, top, 2)
		removed += count
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// sweepFolder removes the stale temporary files of a folder and of those below
// it, to a depth.
func (d *Dir) sweepFolder(ctx context.Context, folder string, depth int) (removed int, err error) {
	if ctx.Err() != nil {
		return 0, interrupted(ctx, folder)
	}
	names, err := d.disk.Names(folder)
	if err != nil {
		return 0, nil // not there, or no folder
	}
	for _, name := range names {
		below := path.Join(folder, name)
		switch {
		case isTemporary(name):
			removed += d.removeStale(below)
		case depth > 0 && mayBeFolder(name):
			count, err := d.sweepFolder(ctx, below, depth-1)
			removed += count
			if err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// mayBeFolder tells the folders of the store from its files by their names, so
// that a sweep need not ask about each of thousands.
func mayBeFolder(name string) bool {
	return !strings.HasSuffix(name, journalSuffix) && !strings.HasSuffix(name, jsonSuffix) && !digestPattern().MatchString(name)
}

// isTemporary reports whether a name is one that atomicfile gives to a file
// that is about to take the place of another.
func isTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, temporarySuffix)
}

func (d *Dir) removeStale(name string) int {
	found, err := d.disk.Stat(name)
	if err != nil || d.now().Sub(found.modified) < stale || d.disk.Remove(name) != nil {
		return 0
	}
	return 1
}

// stale is how long a temporary file is left alone: no replacement takes so
// long.
const stale = time.Hour
