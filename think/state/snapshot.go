package state

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/jsonvalue"
)

// Save implements Journal. It replaces the files under the journal's lock, so that a
// concurrent deletion or repair is not undone.
func (d *Dir) Save(ctx context.Context, key Key, name string, snapshot Snapshot) error {
	if err := ValidateNames(key, name); err != nil {
		return err
	}
	text, err := EncodeSnapshot(key, snapshot, d.options.Now())
	if err != nil {
		return err
	}
	return d.with(ctx, key, writing, func(j *runJournal) error {
		if !j.verified.standsFor(snapshot) {
			return notARecord(key, snapshot)
		}
		if name == "" {
			return d.project(j, snapshot, text)
		}
		if err := d.ensureFolder(checkpointFolder(key)); err != nil {
			return err
		}
		return d.replaceSnapshots(text, atomicfile.Durable, checkpointName(key, name))
	})
}

// project replaces the readable files, unless a newer snapshot is there.
func (d *Dir) project(j *runJournal, snapshot Snapshot, text []byte) error {
	names := []string{snapshotName(j.key), latestName(j.key.Workflow)}
	present, err := readHead(d.disk, names[0])
	if err == nil && present.Version > snapshot.Version && present.Version <= len(j.verified.chain) {
		return nil
	}
	if snapshot.NotLatest {
		names = names[:1]
	}
	return d.replaceSnapshots(text, atomicfile.Durability(!snapshot.Lazy), names...)
}

// replaceSnapshots writes a snapshot to its files, but to none that has one of
// a newer format.
func (d *Dir) replaceSnapshots(text []byte, durability atomicfile.Durability, names ...string) error {
	var refused error
	for _, name := range names {
		if present, err := readHead(d.disk, name); err == nil && present.Format > Format {
			refused = newer(name, present.Format)
			continue
		}
		if err := d.replace(name, text, durability); err != nil {
			return err
		}
	}
	return refused
}

func (d *Dir) replace(name string, data []byte, durability atomicfile.Durability) error {
	return d.replaceFrom(name, bytes.NewReader(data), durability)
}

func (d *Dir) replaceFrom(name string, source io.Reader, durability atomicfile.Durability) error {
	if err := atomicfile.ReplaceFrom(d.disk, name, source, filePermission, durability); err != nil {
		return notSaved(name, err)
	}
	return nil
}

// Load implements Journal. A readable snapshot that is damaged, or not of this
// journal, is passed over: it can be made again, and Check reports it.
func (d *Dir) Load(ctx context.Context, key Key, name string) (Snapshot, error) {
	if err := ValidateNames(key, name); err != nil {
		return Snapshot{}, err
	}
	var found Snapshot
	err := d.with(ctx, key, reading, func(j *runJournal) (err error) {
		if name == "" {
			found, err = j.projection()
		} else {
			found, err = j.checkpoint(name)
		}
		return err
	})
	if err != nil {
		return Snapshot{}, err
	}
	return found, nil
}

func (j *runJournal) projection() (Snapshot, error) {
	found, err := readSnapshot(j.disk, snapshotName(j.key), j.key)
	if err != nil || !j.verified.standsFor(found) {
		return Snapshot{}, unlessIgnorable(err)
	}
	return found, nil
}

func (j *runJournal) checkpoint(name string) (Snapshot, error) {
	file := checkpointName(j.key, name)
	found, err := readSnapshot(j.disk, file, j.key)
	if missing(err) {
		return found, fault.New(fault.CheckpointNotFound, "run %q of workflow %q has no checkpoint %q", j.key.Run, j.key.Workflow, name)
	}
	if err == nil && !j.verified.standsFor(found) {
		err = corrupt(file, "does not match a record of %s", j.name)
	}
	return found, err
}

// Checkpoints implements Journal.
func (d *Dir) Checkpoints(ctx context.Context, key Key) ([]CheckpointInfo, error) {
	if _, _, err := d.Head(ctx, key); err != nil {
		return nil, err
	}
	names, err := d.checkpointNames(key)
	if err != nil {
		return nil, err
	}
	infos := []CheckpointInfo{}
	for _, name := range names {
		found, err := readSnapshot(d.disk, checkpointName(key, name), key)
		if unlessIgnorable(err) != nil {
			return nil, err
		}
		if err == nil {
			infos = append(infos, CheckpointInfo{name, found.Version, found.Time, found.Hash})
		}
	}
	slices.SortStableFunc(infos, func(a, b CheckpointInfo) int { return cmp.Compare(a.Version, b.Version) })
	return infos, nil
}

// checkpointNames returns the named checkpoints of a run by name, readable or
// not.
func (d *Dir) checkpointNames(key Key) ([]string, error) {
	names, err := namesIn(d.disk, checkpointFolder(key))
	if err != nil && !missing(err) {
		return nil, notRead(checkpointFolder(key), err)
	}
	return withSuffix(names, jsonSuffix), nil
}

// ValidateNames checks the names of a run and of a checkpoint; "" is the projection.
func ValidateNames(key Key, checkpoint string) error {
	if err := key.Validate(); err != nil || checkpoint == "" {
		return err
	}
	return validateName("checkpoint", checkpoint)
}

func notARecord(key Key, snapshot Snapshot) error {
	return fault.New(fault.StateConflict, "the snapshot of version v%d does not match a record of %s", snapshot.Version, key)
}

// unlessIgnorable returns the error of a snapshot that must not be passed over.
func unlessIgnorable(err error) error {
	if missing(err) || isCorrupt(err) && !isNewer(err) {
		return nil
	}
	return err
}

// readSnapshot reads and verifies a snapshot of a run without its journal. The error of
// a missing file satisfies missing.
func readSnapshot(target disk, name string, key Key) (Snapshot, error) {
	data, err := readAll(target, name)
	if err != nil {
		return Snapshot{}, notRead(name, err)
	}
	return DecodeSnapshot(name, key, data)
}

// DecodeSnapshot decodes and verifies a snapshot without the journal. name is for
// messages. STATE_CORRUPT.
func DecodeSnapshot(name string, key Key, data []byte) (Snapshot, error) {
	if head := headOf(data); head.Format > Format { // whose other fields may have changed
		return Snapshot{}, newer(name, head.Format)
	}
	var found Snapshot
	if err := json.Unmarshal(data, &found); err != nil {
		return Snapshot{}, corrupt(name, "is not a snapshot: %w", err)
	}
	if of := (Key{found.Workflow, found.Run}); of != key {
		return Snapshot{}, corrupt(name, "is of the run %s", of)
	}
	compact, err := jsonvalue.Compact(found.State)
	if err != nil {
		return Snapshot{}, corrupt(name, "has no state")
	}
	found.State = compact
	if digestOf(found.State, "") != found.Digest {
		return Snapshot{}, corrupt(name, "its state does not match its digest")
	}
	if inner := jsonvalue.Member(found.State, "version"); inner != nil {
		var version int
		if json.Unmarshal(inner, &version) == nil && version != 0 && version != found.Version {
			return Snapshot{}, corrupt(name, "names version %d, but its state has version %d", found.Version, version)
		}
	}
	return found, nil
}

// EncodeSnapshot returns the text of a snapshot, for people to read, with what
// a store sets. INVALID_PARAMS.
func EncodeSnapshot(key Key, snapshot Snapshot, now time.Time) ([]byte, error) {
	compact, err := jsonvalue.Compact(snapshot.State)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the state of a snapshot is not JSON: %w", err)
	}
	snapshot.State, snapshot.Digest = compact, digestOf(compact, "")
	snapshot.Format, snapshot.Workflow, snapshot.Run = Format, key.Workflow, key.Run
	snapshot.Time = cmp.Or(snapshot.Time, now.UTC().Format(time.RFC3339Nano))
	text, err := jsonvalue.EncodeIndented(snapshot, 3*len(compact))
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "a snapshot does not encode: %w", err)
	}
	return append(text, '\n'), nil
}
