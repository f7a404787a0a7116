package state

import (
	"cmp"
	"context"
	"slices"

	"savant/fault"
	"savant/internal/atomicfile"
)

// Checkpoint implements Store.
func (d *Dir) Checkpoint(ctx context.Context, key Key, name string, snapshot Snapshot) error {
	if err := validateNames(key, name); err != nil {
		return err
	}
	return d.save(ctx, key, snapshot, func(_ *runJournal, data []byte) error {
		if err := d.ensureFolder(checkpointFolder(key)); err != nil {
			return err
		}
		return d.replaceSnapshot(data, atomicfile.Durable, checkpointName(key, name))
	})
}

func validateNames(key Key, checkpoint string) error {
	if err := key.Validate(); err != nil {
		return err
	}
	return validateName("checkpoint", checkpoint)
}

// Checkpoints implements Store.
func (d *Dir) Checkpoints(ctx context.Context, key Key) ([]CheckpointInfo, error) {
	if _, _, err := d.Head(ctx, key); err != nil {
		return nil, err
	}
	names, err := d.disk.Names(checkpointFolder(key))
	if err != nil && !missing(err) {
		return nil, notRead(checkpointFolder(key), err)
	}
	infos := []CheckpointInfo{}
	for _, name := range withSuffix(names, jsonSuffix) {
		found, err := readSnapshot(d.disk, checkpointName(key, name), key)
		if unlessIgnorable(err) != nil {
			return nil, err
		}
		if err == nil {
			infos = append(infos, CheckpointInfo{name, found.Version, found.Time, found.Hash})
		}
	}
	slices.SortFunc(infos, func(a, b CheckpointInfo) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Name, b.Name))
	})
	return infos, nil
}

// Restore implements Store.
func (d *Dir) Restore(ctx context.Context, key Key, name string) (Snapshot, error) {
	if err := validateNames(key, name); err != nil {
		return Snapshot{}, err
	}
	var found Snapshot
	err := d.with(ctx, key, reading, func(j *runJournal) (err error) {
		file := checkpointName(key, name)
		found, err = readSnapshot(d.disk, file, key)
		if missing(err) {
			return fault.New(fault.CheckpointNotFound, "run %q of workflow %q has no checkpoint %q", key.Run, key.Workflow, name)
		}
		if err == nil && !j.tip.standsFor(found) {
			return corrupt(file, "does not stand for a record of %s", j.name)
		}
		return err
	})
	if err != nil {
		return Snapshot{}, err
	}
	return found, nil
}
