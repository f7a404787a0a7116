package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// operation is something a store does, what has to be there before, and how
// to find again what it is allowed to have hidden.
type operation struct {
	name    string
	prepare func(*testing.T, *simDisk, *Dir)
	act     func(*Dir) error
	// lazy operations promise nothing for a crash.
	lazy bool
}

func grow(count int) func(*testing.T, *simDisk, *Dir) {
	return func(t *testing.T, _ *simDisk, d *Dir) {
		_, err := d.Append(context.Background(), faultKey, faultRecord(1))
		require.NoError(t, err)
		for version := 2; version <= count; version++ {
			_, err := d.Append(context.Background(), faultKey, faultRecord(version))
			require.NoError(t, err)
		}
	}
}

func appendNext(version int) func(*Dir) error {
	return func(d *Dir) error {
		_, err := d.Append(context.Background(), faultKey, faultRecord(version))
		return err
	}
}

// snapshotAt returns the snapshot of a record, as far as it can be read.
func snapshotAt(d *Dir, version int) (Snapshot, error) {
	records, err := d.Records(context.Background(), faultKey, version-1, 0)
	if err != nil {
		return Snapshot{}, err
	}
	return Snapshot{Version: version, Status: "running", Hash: "h", Record: records[0].Hash,
		State: json.RawMessage(fmt.Sprintf(`{"at":%d}`, version))}, nil
}

func project(version int, durable bool) func(*Dir) error {
	return func(d *Dir) error {
		snapshot, err := snapshotAt(d, version)
		if err != nil {
			return err
		}
		snapshot.Lazy = !durable
		return d.Save(context.Background(), faultKey, "", snapshot)
	}
}

func checkpoint(name string, version int) func(*Dir) error {
	return func(d *Dir) error {
		snapshot, err := snapshotAt(d, version)
		if err != nil {
			return err
		}
		return d.Save(context.Background(), faultKey, name, snapshot)
	}
}

// furnished is a run with everything a run can have.
func furnished(t *testing.T, disk *simDisk, d *Dir) {
	grow(3)(t, disk, d)
	require.NoError(t, project(2, true)(d))
	require.NoError(t, checkpoint("c", 1)(d))
}

// torn is a run whose last append was interrupted by a crash.
func torn(t *testing.T, disk *simDisk, d *Dir) {
	grow(2)(t, disk, d)
	_, line, err := Seal(faultKey, Link{2, "another"}, faultRecord(3), fixedNow())
	require.NoError(t, err)
	appendRaw(t, disk, line[:len(line)/2])
}

func appendRaw(t *testing.T, disk *simDisk, data []byte) {
	handle, err := disk.Open(journalName(faultKey), 0)
	require.NoError(t, err)
	info, err := handle.Stat()
	require.NoError(t, err)
	_, err = handle.WriteAt(data, info.size)
	require.NoError(t, err)
	require.NoError(t, handle.Sync())
}

var faultValue = bytes.Repeat([]byte("artifact"), 200)

func operations() []operation {
	ctx := context.Background()
	create := func(d *Dir) error { _, err := d.Append(ctx, faultKey, faultRecord(1)); return err }
	remove := func(d *Dir) error { return d.Delete(ctx, faultKey) }
	removed := func(t *testing.T, disk *simDisk, d *Dir) {
		furnished(t, disk, d)
		require.NoError(t, remove(d))
	}
	nothing := func(*testing.T, *simDisk, *Dir) {}
	return []operation{
		{name: "create", prepare: nothing, act: create},
		{name: "create again", prepare: removed, act: create},
		{name: "append", prepare: grow(2), act: appendNext(3)},
		{name: "append after a crash", prepare: torn, act: appendNext(3)},
		{name: "append in a new process", prepare: grow(2), act: func(d *Dir) error {
			return appendNext(3)(openSim(d.disk.(*simDisk)))
		}},
		{name: "project", prepare: furnished, act: project(3, true)},
		{name: "project lazily", prepare: furnished, act: project(3, false), lazy: true},
		{name: "checkpoint", prepare: furnished, act: checkpoint("d", 2)},
		{name: "replace checkpoint", prepare: furnished, act: checkpoint("c", 2)},
		{name: "delete", prepare: furnished, act: remove},
		{name: "undelete", prepare: removed, act: func(d *Dir) error { return d.Undelete(ctx, faultKey) }},
		{name: "artifact", prepare: nothing, act: func(d *Dir) error { _, err := d.PutArtifact(ctx, faultValue); return err }},
		{name: "receipt", prepare: nothing, act: putReceipt, lazy: true},
		{name: "read", prepare: furnished, act: func(d *Dir) error { _, err := look(newDir(d.disk, Options{})); return err }},
	}
}

var faultReceipt = Receipt{ID: "abcd2345", Tool: "t", Result: json.RawMessage(`{}`)}

func putReceipt(d *Dir) error {
	err := d.PutReceipt(context.Background(), faultReceipt)
	if errors.Is(err, fault.IDCollision) {
		return nil // it is kept
	}
	return err
}

// look returns all that can be seen of the run, as text to compare. Errors
// with a code are part of what is seen; others are returned.
func look(d *Dir) (string, error) {
	ctx := context.Background()
	records, err := d.Records(ctx, faultKey, 0, 0)
	if err != nil && !errors.Is(err, fault.UnknownRun) {
		return "", err
	}
	snapshot, err := d.Load(ctx, faultKey, "")
	if err != nil && !errors.Is(err, fault.UnknownRun) {
		return "", err
	}
	checkpoints, err := d.Checkpoints(ctx, faultKey)
	if err != nil && !errors.Is(err, fault.UnknownRun) {
		return "", err
	}
	value, err := d.Artifact(ctx, digestOf(faultValue, ""))
	if err != nil && !errors.Is(err, fault.StateCorrupt) {
		return "", err
	}
	receipt, err := d.Receipt(ctx, faultReceipt.ID)
	if err != nil && !errors.Is(err, fault.NotWitnessed) {
		return "", err
	}
	infos, err := d.List(ctx, Filter{})
	if err != nil {
		return "", err
	}
	seen, err := json.Marshal([]any{records, snapshot, checkpoints, value, receipt, infos})
	return string(seen), err
}

func mustLook(t *testing.T, disk *simDisk) string {
	seen, err := look(openSim(disk))
	require.NoError(t, err)
	return seen
}

// stage returns a disk on which everything is durable and the operation can
// begin, and the store that prepared it.
func stage(t *testing.T, op operation) (*simDisk, *Dir) {
	disk := newSimDisk()
	d := openSim(disk)
	op.prepare(t, disk, d)
	disk.calls, disk.trace = 0, nil
	return disk, d
}
