package state

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/jsonvalue"
)

// Snapshot implements Store. A projection that is damaged, or not of this
// journal, is passed over: it can be made again, and Check tells of it.
func (d *Dir) Snapshot(ctx context.Context, key Key) (Snapshot, error) {
	var result Snapshot
	err := d.with(ctx, key, reading, func(j *runJournal) error {
		// With the journal locked, no projection can be ahead of it.
		name := snapshotName(key)
		found, err := readSnapshot(d.disk, name, key)
		if err != nil {
			return unlessIgnorable(err)
		}
		if last := len(j.tip.chain); found.Version > last {
			return corrupt(j.name, "ends after record %d, but %s stands for record %d", last, name, found.Version)
		}
		if j.tip.standsFor(found) {
			result = found
		}
		return nil
	})
	return result, err
}

// unlessIgnorable returns what keeps a snapshot from being passed over.
func unlessIgnorable(err error) error {
	if isNewer(err) || !(missing(err) || isCorrupt(err)) {
		return err
	}
	return nil
}

// readSnapshot reads and verifies a snapshot of a run by itself, without the
// journal. The error of a missing file satisfies missing.
func readSnapshot(target disk, name string, key Key) (Snapshot, error) {
	data, err := readAll(target, name)
	if err != nil {
		return Snapshot{}, notRead(name, err)
	}
	if head := headOf(data); head.Format > Format { // before all that may have changed with it
		return Snapshot{}, newer(name, head.Format)
	}
	var found Snapshot
	if err := json.Unmarshal(data, &found); err != nil {
		return Snapshot{}, corrupt(name, "is not a snapshot: %w", err)
	}
	if found.Format > Format {
		return Snapshot{}, newer(name, found.Format)
	}
	if of := (Key{found.Workflow, found.Run}); of != key {
		return Snapshot{}, corrupt(name, "is of the run %s", of)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, found.State); err != nil {
		return Snapshot{}, corrupt(name, "has no state")
	}
	found.State = compact.Bytes()
	if digestOf(found.State, "") != found.Digest {
		return Snapshot{}, corrupt(name, "its state does not match its digest")
	}
	var inner struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(found.State, &inner) == nil && inner.Version != 0 && inner.Version != found.Version {
		return Snapshot{}, corrupt(name, "says version %d of a state of version %d", found.Version, inner.Version)
	}
	return found, nil
}

// Project implements Store.
func (d *Dir) Project(ctx context.Context, key Key, snapshot Snapshot, durable bool) error {
	names := []string{snapshotName(key), latestName(key.Workflow)}
	if snapshot.Passed {
		names = names[:1]
	}
	return d.save(ctx, key, snapshot, func(j *runJournal, data []byte) error {
		present, err := readHead(d.disk, names[0])
		if err == nil && present.Version > snapshot.Version && present.Version <= len(j.tip.chain) {
			return nil // a newer snapshot is there
		}
		return d.replaceSnapshot(data, atomicfile.Durability(durable), names...)
	})
}

// save calls replace with the text of a snapshot while the journal is locked,
// so that nothing of a run that is deleted or repaired meanwhile comes back.
func (d *Dir) save(ctx context.Context, key Key, snapshot Snapshot, replace func(*runJournal, []byte) error) error {
	if err := key.Validate(); err != nil {
		return err
	}
	completed, err := d.complete(key, snapshot)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := completed.write(&text); err != nil {
		return err
	}
	return d.with(ctx, key, writing, func(j *runJournal) error {
		if !j.tip.standsFor(snapshot) {
			return notARecord(key, snapshot)
		}
		return replace(j, text.Bytes())
	})
}

func notARecord(key Key, snapshot Snapshot) error {
	return fault.New(fault.StateConflict, "the snapshot of version v%d does not stand for a record of %s", snapshot.Version, key)
}

// replaceSnapshot writes a snapshot to its files, but to none where one of a
// newer format is.
func (d *Dir) replaceSnapshot(data []byte, durability atomicfile.Durability, names ...string) error {
	var refused error
	names = slices.DeleteFunc(names, func(name string) bool {
		present, err := readHead(d.disk, name)
		if err != nil || present.Format <= Format {
			return false
		}
		refused = newer(name, present.Format)
		return true
	})
	if len(names) == 0 {
		return refused
	}
	err := atomicfile.ReplaceAll(d.disk, names, filePermission, durability, func(out io.Writer) error { _, err := out.Write(data); return err })
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		return notSaved(onPath.Path, onPath.Err)
	}
	return cmp.Or(err, refused)
}

func (d *Dir) replace(name string, data []byte, durability atomicfile.Durability) error {
	if err := atomicfile.Replace(d.disk, name, data, filePermission, durability); err != nil {
		return notSaved(name, err)
	}
	return nil
}

// complete returns the snapshot with what the store sets.
func (d *Dir) complete(key Key, snapshot Snapshot) (Snapshot, error) {
	if snapshot.WriteState == nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, snapshot.State); err != nil {
			return Snapshot{}, fault.New(fault.InvalidParams, "the state of a snapshot is not JSON: %w", err)
		}
		snapshot.WriteState = func(out io.Writer) error {
			_, err := out.Write(compact.Bytes())
			return err
		}
	}
	snapshot.State, snapshot.Digest = nil, ""
	snapshot.Format, snapshot.Workflow, snapshot.Run = Format, key.Workflow, key.Run
	if snapshot.Time == "" {
		snapshot.Time = d.now().UTC().Format(time.RFC3339Nano)
	}
	return snapshot, nil
}

// write writes a completed snapshot for people to read. The
// digest of its state comes last.
func (s Snapshot) write(out io.Writer) error {
	frame, err := jsonvalue.Encode(s)
	if err != nil {
		return fault.New(fault.InvalidParams, "a snapshot does not encode: %w", err)
	}
	head, _, _ := bytes.Cut(frame, []byte(stateIsNext+"null"))
	text, sum := new(bytes.Buffer), sha256.New()
	parts := []func() error{
		func() error { _, err := text.Write(append(head, stateIsNext...)); return err },
		func() error { return s.WriteState(io.MultiWriter(sum, text)) },
		func() error {
			_, err := fmt.Fprintf(text, `,"digest":"%x"}`, sum.Sum(nil))
			return err
		},
		func() error { return indent(out, text.Bytes()) },
	}
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// indent writes JSON for people, and a line feed.
func indent(out io.Writer, data []byte) error {
	var readable bytes.Buffer
	if err := jsonvalue.Indent(&readable, data); err != nil {
		return err
	}
	readable.WriteByte('\n')
	_, err := readable.WriteTo(out)
	return err
}

// stateIsNext comes before the state in a snapshot's JSON.
const stateIsNext = `,"state":`
