package state

import (
	"cmp"
	"context"
	"path"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
)

// trashDate begins the name of a folder in the trash; its width is fixed, so
// that names sort by time.
const trashDate = "20060102T150405.000000000Z"

// trashLabel follows the date in the name, cut to what a file system accepts (255
// bytes); the journal inside says which run it is.
func trashLabel(key Key) string {
	label := "-" + key.Workflow + "-" + key.Run
	return label[:min(len(label), 200)]
}

// Delete implements Journal. It moves the run to the trash; nothing is erased. The
// journal moves first: with it the run is gone. A damaged run can be deleted too.
func (d *Dir) Delete(ctx context.Context, key Key) error {
	return d.with(ctx, key, moving, func(j *runJournal) error {
		now, err := j.file.Stat()
		if err != nil {
			return notRead(j.name, err)
		}
		if now.size == 0 {
			return unknownRun(key)
		}
		return d.discard(j)
	})
}

// DeleteAt is Delete of a run that is still at a version: STATE_CONFLICT if it
// has moved on. UNKNOWN_RUN.
func (d *Dir) DeleteAt(ctx context.Context, key Key, version int) error {
	return d.with(ctx, key, writing, func(j *runJournal) error {
		if found := len(j.verified.chain); found != version {
			return fault.New(fault.StateConflict, "expected version v%d of %s, found v%d", version, key, found)
		}
		return d.discard(j)
	})
}

// discard moves the run of a journal that the caller holds.
func (d *Dir) discard(j *runJournal) error {
	folder, err := d.makeTrash(trashLabel(j.key))
	if err != nil {
		return err
	}
	if err := d.move(j.name, path.Join(folder, j.key.Run+journalSuffix)); err != nil {
		return err
	}
	j.closeAndInvalidate()
	dropHead(d.disk, j.key)
	if err := d.moveProjections(j.key, runsFolder(j.key.Workflow), folder); err != nil {
		return err
	}
	return d.dropLatest(j.key)
}

// makeTrash makes a new folder in the trash, its name a date and a label.
func (d *Dir) makeTrash(label string) (string, error) {
	if err := d.ensureFolder(trashFolder); err != nil {
		return "", err
	}
	for at := d.options.Now().UTC(); ; at = at.Add(time.Nanosecond) {
		folder := path.Join(trashFolder, at.Format(trashDate)+label)
		err := d.disk.Mkdir(folder)
		if err == nil {
			err = d.disk.SyncFolder(trashFolder)
		} else if exists(err) {
			continue
		}
		if err != nil {
			return "", notSaved(folder, err)
		}
		return folder, nil
	}
}

// move renames a file or folder, durably, the new place first: a crash may
// leave it in both, never in none. A missing file is no error.
func (d *Dir) move(from, to string) error {
	err := d.disk.Rename(from, to)
	if missing(err) {
		return nil
	}
	if err == nil {
		err = d.disk.SyncFolder(path.Dir(to))
	}
	if err == nil {
		err = d.disk.SyncFolder(path.Dir(from))
	}
	if err != nil {
		return notSaved(to, err)
	}
	return nil
}

// moveProjections moves what belongs to a journal from one folder to another.
func (d *Dir) moveProjections(key Key, from, to string) error {
	for _, suffix := range []string{jsonSuffix, checkpointSuffix} {
		if err := d.move(path.Join(from, key.Run+suffix), path.Join(to, key.Run+suffix)); err != nil {
			return err
		}
	}
	return nil
}

// dropLatest removes the snapshot of the workflow's latest run when it is of
// this one: a copy, whose original is in the trash.
func (d *Dir) dropLatest(key Key) error {
	name := latestName(key.Workflow)
	if latest, err := readSnapshot(d.disk, name, key); err != nil || latest.Run != key.Run {
		return nil
	}
	if err := d.disk.Remove(name); err != nil {
		return notSaved(name, err)
	}
	return nil
}

// trashRemains moves the files that an interrupted Delete left of an earlier run of
// this name to the trash, so that the new run does not adopt them.
func (d *Dir) trashRemains(key Key) error {
	_, snapshotErr := d.disk.Stat(snapshotName(key))
	_, checkpointErr := d.disk.Stat(checkpointFolder(key))
	if missing(snapshotErr) && missing(checkpointErr) {
		return nil
	}
	folder, err := d.makeTrash(trashLabel(key))
	if err != nil {
		return err
	}
	return d.moveProjections(key, runsFolder(key.Workflow), folder)
}

// Undelete brings back the run of this name that was deleted last.
// STATE_CONFLICT if a run of the name exists, UNKNOWN_RUN if none was deleted.
// The journal moves last: with it the run is back.
func (d *Dir) Undelete(ctx context.Context, key Key) error {
	if err := key.Validate(); err != nil {
		return err
	}
	folder, err := d.findTrash(key)
	if err != nil {
		return err
	}
	runs := runsFolder(key.Workflow)
	if err := d.ensureFolder(runs); err != nil {
		return err
	}
	return d.with(ctx, key, creating, func(j *runJournal) error {
		if version := len(j.verified.chain); version > 0 {
			return runExists(key, version)
		}
		if found, err := d.trashed(folder, key); !found || err != nil {
			return cmp.Or(err, unknownRun(key)) // erased in between
		}
		if err := d.moveProjections(key, folder, runs); err != nil {
			return err
		}
		if err := d.move(path.Join(folder, key.Run+journalSuffix), j.name); err != nil {
			return err
		}
		j.closeAndInvalidate()
		_ = d.disk.Remove(folder) // empty now; a crash may leave it
		d.restoreLatest(key)
		return nil
	})
}

// restoreLatest writes the snapshot of the workflow's latest run again, which
// Delete removed. If it fails the next step of the workflow writes it.
func (d *Dir) restoreLatest(key Key) {
	name := latestName(key.Workflow)
	if _, err := d.disk.Stat(name); !missing(err) {
		return // it is of a run that moved since
	}
	if text, err := readAll(d.disk, snapshotName(key)); err == nil {
		_ = d.replace(name, text, atomicfile.Lazy)
	}
}

// findTrash returns the folder of the run of this name deleted last.
func (d *Dir) findTrash(key Key) (string, error) {
	names, err := namesIn(d.disk, trashFolder)
	if err != nil && !missing(err) {
		return "", notRead(trashFolder, err)
	}
	for _, name := range slices.Backward(names) {
		if name[min(len(name), len(trashDate)):] != trashLabel(key) {
			continue
		}
		folder := path.Join(trashFolder, name)
		if found, err := d.trashed(folder, key); found || err != nil {
			return folder, err
		}
	}
	return "", fault.New(fault.UnknownRun, "no run %q of workflow %q was deleted", key.Run, key.Workflow)
}

// trashed reports whether a folder of the trash has the journal of a run. One
// whose beginning is damaged counts by its name.
func (d *Dir) trashed(folder string, key Key) (bool, error) {
	name := path.Join(folder, key.Run+journalSuffix)
	head, err := readHead(d.disk, name)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, notRead(name, err)
	}
	return head.Workflow == "" || (Key{head.Workflow, head.Run}) == key, nil
}
