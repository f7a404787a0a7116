package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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

// openSim opens the store as another process does.
func openSim(d *simDisk) *Dir {
	return newDir(d, Options{Now: fixedNow})
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

// thorough returns how often chance is tried: more where CI is set.
func thorough(times, timesInCI uint64) uint64 {
	if os.Getenv("CI") != "" {
		return timesInCI
	}
	return times
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
				for seed := range thorough(4, 12) {
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

// TestErrorsNameTheCauseAndNoPath: they reach clients, so they name the file below
// SAVANT_PATH, the cause and what to do.
func TestErrorsNameTheCauseAndNoPath(t *testing.T) {
	disk, d := stage(t, operation{prepare: grow(2)})
	disk.failAt, disk.fault = 3, failENOSPC
	err := appendNext(3)(d)
	require.ErrorIs(t, err, fault.StateNotSaved)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, ".savant/state/w/r.journal", "the file")
	require.ErrorContains(t, err, syscall.ENOSPC.Error(), "the cause")
}
