package state

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// later is a store over the same disk, some time after now.
func later(disk *simDisk, after time.Duration) *Dir {
	return newDir(disk, Options{Now: func() time.Time { return time.Unix(0, 0).Add(after) }})
}

func TestGCArtifactsKeepsWhatIsNamed(t *testing.T) {
	ctx := context.Background()
	disk, d := stage(t, operation{prepare: func(*testing.T, *simDisk, *Dir) {}})
	put := func(text string) string {
		digest, err := d.PutArtifact(ctx, []byte(text))
		require.NoError(t, err)
		return digest
	}
	named, trashed, loose := put("named"), put("trashed"), put("loose")
	for run, digest := range map[string]string{"r": named, "t": trashed} {
		first := smallRecord(1)
		first.Data = []byte(`{"ref":"savant://artifacts/` + digest + `"}`)
		_, err := d.Append(ctx, Key{"w", run}, first)
		require.NoError(t, err)
	}
	require.NoError(t, d.Delete(ctx, Key{"w", "t"}))

	removed, err := later(disk, time.Minute).GCArtifacts(ctx, time.Hour, false)
	require.NoError(t, err)
	require.Zero(t, removed, "all of them are new")
	for _, dry := range []bool{true, false} {
		removed, err = later(disk, 2*time.Hour).GCArtifacts(ctx, time.Hour, dry)
		require.NoError(t, err)
		require.Equal(t, Collected{Artifacts: 1, Bytes: 5}, removed)
	}
	_, err = d.Artifact(ctx, loose)
	require.ErrorIs(t, err, fault.StateCorrupt)
	for _, digest := range []string{named, trashed} {
		_, err = d.Artifact(ctx, digest)
		require.NoError(t, err)
	}
}

// TestGCMeetsAPlan: at whichever call of the collection another process puts the
// artifact again, it is there in the end.
func TestGCMeetsAPlan(t *testing.T) {
	ctx := context.Background()
	for n := 1; ; n++ {
		disk, d := stage(t, operation{prepare: func(*testing.T, *simDisk, *Dir) {}})
		_, err := d.PutArtifact(ctx, faultValue)
		require.NoError(t, err)
		disk.calls = 0
		disk.meet = func() {
			if disk.calls == n {
				disk.clock += 2 * 60 * 60
				_, err := d.PutArtifact(ctx, faultValue)
				require.NoError(t, err)
			}
		}
		_, err = later(disk, 2*time.Hour).GCArtifacts(ctx, time.Hour, false)
		require.NoError(t, err)
		disk.meet = nil
		if disk.calls < n {
			return
		}
		_, err = d.Artifact(ctx, digestOf(faultValue, ""))
		require.NoError(t, err, "call %d", n)
	}
}

func TestGCTemporary(t *testing.T) {
	ctx := context.Background()
	disk, d := stage(t, operation{prepare: furnished})
	_, err := d.PutArtifact(ctx, faultValue)
	require.NoError(t, err)
	before := mustLook(t, disk)
	artifacts := path.Dir(artifactName(digestOf(faultValue, "")))
	stale := []string{runsFolder("w") + "/.r.json.AAAA.tmp", checkpointFolder(faultKey) + "/.c.json.AAAA.tmp",
		stateFolder + "/.w.json.AAAA.tmp", artifacts + "/.x.tmp"}
	for _, name := range append(stale, runsFolder("w")+"/tmp", runsFolder("w")+"/.hidden") {
		handle, err := disk.Create(name, 0)
		require.NoError(t, err)
		require.NoError(t, handle.Close())
	}
	removed, err := later(disk, time.Minute).GCTemporary(ctx)
	require.NoError(t, err)
	require.Zero(t, removed, "somebody may be writing them")
	removed, err = later(disk, 2*time.Hour).GCTemporary(ctx)
	require.NoError(t, err)
	require.Equal(t, len(stale), removed)
	require.Equal(t, before, mustLook(t, disk))
}

func TestGCTrash(t *testing.T) {
	ctx := context.Background()
	disk, d := stage(t, operation{prepare: furnished})
	items, err := d.Trash(ctx)
	require.NoError(t, err)
	require.Empty(t, items)
	require.NoError(t, d.Delete(ctx, faultKey))
	require.NoError(t, disk.Mkdir(trashFolder+"/of somebody else"))
	items, err = d.Trash(ctx)
	require.NoError(t, err)
	require.Equal(t, []Trashed{{Folder: ".savant/trash/20260102T030405.000000000Z-w-r", Workflow: "w", Run: "r", Moved: "2026-01-02T03:04:05Z"}}, items)
	require.NoError(t, d.GCTrash(t.Context(), items[0]))
	require.NoError(t, d.GCTrash(t.Context(), items[0]), "again")
	require.ErrorIs(t, d.Undelete(ctx, faultKey), fault.UnknownRun)
	names, err := namesIn(disk, trashFolder)
	require.NoError(t, err)
	require.Equal(t, []string{"of somebody else"}, names)
	require.ErrorIs(t, d.GCTrash(t.Context(), Trashed{Folder: ".savant/state/w"}), fault.InvalidParams)
}

// TestGCTrashInterrupted: no part of a run comes back.
func TestGCTrashInterrupted(t *testing.T) {
	ctx := context.Background()
	for n := 1; ; n++ {
		disk, d := stage(t, operation{prepare: furnished})
		require.NoError(t, d.Delete(ctx, faultKey))
		items, err := d.Trash(ctx)
		require.NoError(t, err)
		whole := mustUndelete(t, disk)
		disk.calls, disk.failAt, disk.fault = 0, n, failEIO
		err = d.GCTrash(t.Context(), items[0])
		over := disk.calls < n
		disk.failAt = -1
		if err != nil {
			require.ErrorIs(t, err, fault.StateNotSaved)
		}
		if openSim(disk).Undelete(ctx, faultKey) == nil {
			require.Equal(t, whole, mustLook(t, disk), "call %d", n)
		}
		if over {
			return
		}
	}
}

// mustUndelete returns what is seen of the run brought back, and deletes it
// again.
func mustUndelete(t *testing.T, disk *simDisk) string {
	d := openSim(disk)
	require.NoError(t, d.Undelete(context.Background(), faultKey))
	seen := mustLook(t, disk)
	require.NoError(t, d.Delete(context.Background(), faultKey))
	return seen
}

func TestDeleteAt(t *testing.T) {
	ctx := context.Background()
	_, d := stage(t, operation{prepare: furnished})
	require.ErrorIs(t, d.DeleteAt(ctx, faultKey, 2), fault.StateConflict)
	require.NoError(t, d.DeleteAt(ctx, faultKey, 3))
	require.ErrorIs(t, d.DeleteAt(ctx, faultKey, 3), fault.UnknownRun)
	require.NoError(t, d.Undelete(ctx, faultKey))
}

func TestFindAndKeys(t *testing.T) {
	ctx := context.Background()
	disk, d := stage(t, operation{prepare: furnished})
	for _, key := range []Key{{"v", "r"}, {"v", "s"}} {
		_, err := d.Append(ctx, key, smallRecord(1))
		require.NoError(t, err)
	}
	keys, err := d.Keys(ctx)
	require.NoError(t, err)
	require.Equal(t, []Key{{"v", "r"}, {"v", "s"}, {"w", "r"}}, keys)
	require.NoError(t, disk.Remove(journalName(faultKey)))
	for run, want := range map[string][]Key{"r": {{"v", "r"}, {"w", "r"}}, "s": {{"v", "s"}}, "t": nil, "../r": nil} {
		infos, err := d.List(ctx, Filter{Run: run})
		require.NoError(t, err)
		var found []Key
		for _, info := range infos {
			found = append(found, Key{info.Workflow, info.Run})
		}
		require.ElementsMatch(t, want, found, run)
	}
}

// TestReceiptsAreCollected: what is old goes, and of what is young the oldest
// beyond the bound.
func TestReceiptsAreCollected(t *testing.T) {
	disk := newSimDisk()
	d := later(disk, 100*24*time.Hour)
	require.NoError(t, putReceipt(d)) // makes the folder
	name := func(i int) string {
		return fmt.Sprintf("%s/c%c%c%caaaa.json", receiptFolder, 'a'+i/400, 'a'+i/20%20, 'a'+i%20)
	}
	aged := func(name string, age time.Duration) {
		disk.fileAt(name).modified = d.options.Now().Add(-age).Unix()
	}
	for i := range 2100 {
		made, err := disk.Create(name(i), filePermission)
		require.NoError(t, err)
		require.NoError(t, made.Close())
		aged(name(i), time.Duration(i+1)*time.Minute)
	}
	stale := receiptFolder + "/" + latestPrefix + strings.Repeat("0", 32) + ".json"
	made, err := disk.Create(stale, filePermission)
	require.NoError(t, err)
	require.NoError(t, made.Close())
	aged(stale, 8*24*time.Hour)
	old := receiptFolder + "/" + faultReceipt.ID + ".json"
	aged(old, 8*24*time.Hour)
	collecting := faultReceipt
	collecting.ID = "aaaa2222"
	require.NoError(t, d.PutReceipt(t.Context(), collecting))
	names, err := namesIn(disk, receiptFolder)
	require.NoError(t, err)
	require.Len(t, names, 2002, "with the note of the latest call")
	require.Nil(t, disk.fileAt(old))
	require.Nil(t, disk.fileAt(stale))
	require.NotNil(t, disk.fileAt(name(0)), "the youngest")
	require.Nil(t, disk.fileAt(name(2099)))
	_, err = d.Receipt(t.Context(), "aaaa2222")
	require.NoError(t, err)
}

// TestFinishMoves: a Delete or an Undelete that was killed anywhere leaves the run
// whole after FinishMoves, in its place or in the trash, and nothing beside it.
func TestFinishMoves(t *testing.T) {
	ctx := context.Background()
	for _, op := range operations() {
		if op.name != "delete" && op.name != "undelete" {
			continue
		}
		whole, _ := outcomes(t, operation{prepare: furnished, act: func(*Dir) error { return nil }})
		for n := 1; ; n++ {
			disk, d := stage(t, op)
			disk.failAt, disk.fault = n, failCrash
			_ = op.act(d)
			killed := disk.dead
			disk.dead, disk.failAt, disk.calls = false, -1, 0
			disk.kill()
			d = openSim(disk)
			_, err := d.FinishMoves(ctx)
			require.NoError(t, err, "%s, call %d", op.name, n)
			again, err := d.FinishMoves(ctx)
			require.NoError(t, err)
			require.Empty(t, again, "%s, call %d: finished is finished", op.name, n)
			left, err := namesIn(disk, runsFolder(faultKey.Workflow))
			require.NoError(t, err)
			if _, _, err := d.Head(ctx, faultKey); err != nil {
				require.ErrorIs(t, err, fault.UnknownRun)
				for _, each := range left {
					require.NotContains(t, each, faultKey.Run+".", "%s, call %d", op.name, n)
				}
				_, err = disk.Stat(latestName(faultKey.Workflow))
				require.True(t, missing(err), "%s, call %d", op.name, n)
				require.NoError(t, d.Undelete(ctx, faultKey), "%s, call %d", op.name, n)
			}
			require.Equal(t, whole, mustLook(t, disk), "%s, call %d", op.name, n)
			if !killed {
				break
			}
		}
	}
}

// A run whose journal is nowhere is damaged: what is left of it stays for a repair.
func TestFinishMovesLeavesDamageAlone(t *testing.T) {
	disk, d := stage(t, operation{prepare: furnished})
	require.NoError(t, disk.Remove(journalName(faultKey)))
	moved, err := d.FinishMoves(t.Context())
	require.NoError(t, err)
	require.Empty(t, moved)
	_, err = disk.Stat(snapshotName(faultKey))
	require.NoError(t, err)
}
