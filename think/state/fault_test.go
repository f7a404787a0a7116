package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// The tests of this file hit every call an operation makes of the disk with
// every kind of fault, one at a time.

var faultKey = Key{"w", "r"}

func fixedNow() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// faultRecord is of several sectors, so that a crash can take parts of it.
func faultRecord(version int) Record {
	data := fmt.Sprintf(`{"step":%d,"text":"%s"}`, version, bytes.Repeat([]byte("x"), 3*sector))
	return Record{Version: version, Kind: "result", Status: "running", Data: json.RawMessage(data), State: "h"}
}

func openSim(d *simDisk) *Dir { return newDir(d, Options{Now: fixedNow}) }

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
		_, err := d.Create(context.Background(), faultKey, faultRecord(1))
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
	records, err := d.Records(context.Background(), faultKey, version-1)
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
		return d.Project(context.Background(), faultKey, snapshot, durable)
	}
}

func checkpoint(name string, version int) func(*Dir) error {
	return func(d *Dir) error {
		snapshot, err := snapshotAt(d, version)
		if err != nil {
			return err
		}
		return d.Checkpoint(context.Background(), faultKey, name, snapshot)
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
	_, line, err := seal(faultKey, Link{2, "another"}, faultRecord(3), fixedNow())
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
	create := func(d *Dir) error { _, err := d.Create(ctx, faultKey, faultRecord(1)); return err }
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
			return appendNext(3)(newDir(d.disk, Options{Now: fixedNow}))
		}},
		{name: "project", prepare: furnished, act: project(3, true)},
		{name: "project lazily", prepare: furnished, act: project(3, false), lazy: true},
		{name: "checkpoint", prepare: furnished, act: checkpoint("d", 2)},
		{name: "replace checkpoint", prepare: furnished, act: checkpoint("c", 2)},
		{name: "delete", prepare: furnished, act: remove},
		{name: "undelete", prepare: removed, act: func(d *Dir) error { return d.Undelete(ctx, faultKey) }},
		{name: "artifact", prepare: nothing, act: func(d *Dir) error { _, err := d.PutArtifact(ctx, faultValue); return err }},
		{name: "read", prepare: furnished, act: func(d *Dir) error { _, err := look(newDir(d.disk, Options{})); return err }},
	}
}

// look returns all that can be seen of the run, as text to compare. Errors
// with a code are part of what is seen; others are returned.
func look(d *Dir) (string, error) {
	ctx := context.Background()
	records, err := d.Records(ctx, faultKey, 0)
	if err != nil && !errors.Is(err, fault.UnknownRun) {
		return "", err
	}
	snapshot, err := d.Snapshot(ctx, faultKey)
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
	infos, err := d.List(ctx, "")
	if err != nil {
		return "", err
	}
	seen, err := json.Marshal([]any{records, snapshot, checkpoints, value, infos})
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

func TestEveryFaultLeavesBeforeOrAfter(t *testing.T) {
	faults := map[string]simFault{"EIO": failEIO, "ENOSPC": failENOSPC, "EROFS": failEROFS, "short": failShort, "hard": failHard}
	for _, op := range operations() {
		before, after := outcomes(t, op)
		for name, kind := range faults {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				for n := 1; ; n++ {
					disk, d := stage(t, op)
					disk.failAt, disk.fault = n, kind
					err := op.act(d)
					if disk.calls < n {
						require.NoError(t, err)
						return
					}
					where := fmt.Sprintf("call %d: %s: %v", n, disk.trace[n-1], err)
					requireCoded(t, err, where)
					disk.failAt = -1
					seen := mustLook(t, disk)
					if err == nil {
						require.Equal(t, after, seen, where)
					} else {
						require.Contains(t, []string{before, after}, seen, where)
					}
					goOn(t, op, d, after, where)
				}
			})
		}
	}
}

// requireCoded: an error has a code and its text no more than that.
func requireCoded(t *testing.T, err error, where string) {
	if err == nil {
		return
	}
	var coded *fault.Error
	require.ErrorAs(t, err, &coded, where)
	require.Contains(t, []fault.Code{fault.StateNotSaved, fault.Internal}, coded.Code, where)
}

// goOn: with the cause gone, the same store does the same operation.
func goOn(t *testing.T, op operation, d *Dir, after, where string) {
	err := op.act(d)
	if err != nil && !errors.Is(err, fault.StateConflict) && !errors.Is(err, fault.UnknownRun) {
		require.NoError(t, err, where)
	}
	seen, err := look(d)
	require.NoError(t, err, where)
	require.Equal(t, after, seen, where)
}

// outcomes returns what is seen before and after an operation without fault.
func outcomes(t *testing.T, op operation) (before, after string) {
	disk, _ := stage(t, op)
	before = mustLook(t, disk)
	disk, d := stage(t, op)
	require.NoError(t, op.act(d))
	return before, mustLook(t, disk)
}

func TestEveryCrashLeavesBeforeOrAfter(t *testing.T) {
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			before, after := outcomes(t, op)
			for n := 1; ; n++ {
				crashed := false
				for seed := range uint64(12) {
					disk, d := stage(t, op)
					disk.failAt, disk.fault = n, failCrash
					err := op.act(d)
					crashed = disk.dead
					disk.crash([]float64{0, 1, 0.5, 0.8}[seed%4], rand.New(rand.NewPCG(seed, uint64(n))))
					where := fmt.Sprintf("call %d, seed %d: %v", n, seed, err)
					seen := mustLook(t, disk)
					if err == nil && !op.lazy {
						require.Equal(t, after, seen, where)
					} else if !op.lazy || seen == after {
						require.Contains(t, []string{before, after}, seen, where)
					}
					goOn(t, op, openSim(disk), after, where)
				}
				if !crashed {
					return
				}
			}
		})
	}
}

// TestDeleteLosesNothing: wherever Delete or Undelete is interrupted, the run
// is there whole, or a further Undelete brings it back whole.
func TestDeleteLosesNothing(t *testing.T) {
	for _, op := range operations() {
		if op.name != "delete" && op.name != "undelete" {
			continue
		}
		whole, _ := outcomes(t, operation{prepare: furnished, act: func(*Dir) error { return nil }})
		for n := 1; ; n++ {
			disk, d := stage(t, op)
			disk.failAt, disk.fault = n, failCrash
			_ = op.act(d) // what it reports is the matter of the tests above
			crashed := disk.dead
			disk.crash(float64(n%2), rand.New(rand.NewPCG(1, uint64(n))))
			if err := openSim(disk).Undelete(context.Background(), faultKey); err != nil {
				_, _, err := openSim(disk).Head(context.Background(), faultKey)
				require.NoError(t, err, "%s, call %d", op.name, n)
			}
			require.Equal(t, whole, mustLook(t, disk), "%s, call %d", op.name, n)
			if !crashed {
				break
			}
		}
	}
}

// TestRandomFaultsLoseNothingAcknowledged goes on for long, through faults,
// crashes and changes of process.
func TestRandomFaultsLoseNothingAcknowledged(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		disk := newSimDisk()
		d := openSim(disk)
		acknowledged := []Record{}
		for range 60 {
			disk.calls, disk.failAt, disk.fault = 0, -1, simFault(random.IntN(int(failCrash)+1))
			if random.IntN(2) == 0 {
				disk.failAt = 1 + random.IntN(12)
			}
			made, err := step(d, len(acknowledged))
			if err == nil {
				acknowledged = append(acknowledged, made)
			}
			if disk.failAt = -1; disk.dead || random.IntN(10) == 0 {
				disk.crash(random.Float64(), random)
				d = openSim(disk)
			} else if random.IntN(5) == 0 && !inDoubt(d) {
				d = openSim(disk) // another process
			}
			acknowledged = requireKept(t, d, acknowledged, seed)
		}
	}
}

// inDoubt reports whether a store knows of a record that no sync reached and no
// truncation removed. Another process cannot know: until one of the two
// appends, it takes that record for durable. It needs two faults and is the
// one case that is not covered.
func inDoubt(d *Dir) bool {
	j := d.enlist(faultKey)
	defer d.leave(j)
	return j.tip.doubt
}

// step adds a record to a run of some length, creating it when it is empty.
func step(d *Dir, length int) (Record, error) {
	if length == 0 {
		return d.Create(context.Background(), faultKey, faultRecord(1))
	}
	return d.Append(context.Background(), faultKey, faultRecord(length+1))
}

// requireKept: the run has the acknowledged records and at most one more, which
// counts from now on, since it was told.
func requireKept(t *testing.T, d *Dir, acknowledged []Record, seed uint64) []Record {
	found, err := d.Records(context.Background(), faultKey, 0)
	if len(acknowledged) == 0 && errors.Is(err, fault.UnknownRun) {
		return acknowledged
	}
	require.NoError(t, err, "seed %d", seed)
	require.LessOrEqual(t, len(found), len(acknowledged)+1, "seed %d", seed)
	require.GreaterOrEqual(t, len(found), len(acknowledged), "seed %d", seed)
	require.Equal(t, acknowledged, found[:len(acknowledged)], "seed %d", seed)
	return found
}

func TestErrorsNameTheCauseAndNoPath(t *testing.T) {
	disk, d := stage(t, operation{prepare: grow(2)})
	disk.failAt, disk.fault = 3, failENOSPC
	err := appendNext(3)(d)
	require.ErrorIs(t, err, fault.StateNotSaved)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.EqualError(t, err, "STATE_NOT_SAVED: .savant/state/w/r.journal was not saved: no space left on device")
}
