package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

func write(t *testing.T, folder string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant", "sessions", "r1.journal"), data, 0o600))
}

func TestARunIsResumedFromItsJournal(t *testing.T) {
	store, _ := open(t)
	session := create(t, store, "r1")
	require.NoError(t, session.Append("started", map[string]any{"goal": "<g>"}, true))
	require.NoError(t, session.Append("decision", nil, false))
	require.NoError(t, session.Close())
	require.ErrorIs(t, session.Append("late", nil, true), fault.StateNotSaved)

	again, records, err := store.Resume("r1")
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.Equal(t, `{"goal":"\u003cg\u003e"}`, string(records[0].Data))
	require.NoError(t, again.Append("finished", nil, true))
	_, _, err = store.Resume("r1")
	require.ErrorIs(t, err, fault.StateConflict)
	require.True(t, store.Running("r1"))
	require.NoError(t, again.Close())
	require.False(t, store.Running("r1"))
	records, err = store.Records("r1")
	require.NoError(t, err)
	require.Len(t, records, 3)
}

// TestATornEndIsDropped cuts a journal at every byte: what was whole is read,
// and the session goes on behind it.
func TestATornEndIsDropped(t *testing.T) {
	store, folder := open(t)
	session := create(t, store, "r1")
	var ends []int
	for range 3 {
		require.NoError(t, session.Append("call", map[string]any{"text": "é\n"}, false))
		info, err := os.Stat(filepath.Join(folder, ".savant", "sessions", "r1.journal"))
		require.NoError(t, err)
		ends = append(ends, int(info.Size()))
	}
	require.NoError(t, session.Close())
	whole, err := os.ReadFile(filepath.Join(folder, ".savant", "sessions", "r1.journal"))
	require.NoError(t, err)
	for cut := range whole {
		write(t, folder, whole[:cut])
		again, records, err := store.Resume("r1")
		require.NoError(t, err, cut)
		count := 0
		for count < len(ends) && ends[count] <= cut {
			count++
		}
		require.Len(t, records, count, cut)
		require.NoError(t, again.Append("next", nil, false))
		require.NoError(t, again.Close())
		records, err = store.Records("r1")
		require.NoError(t, err)
		require.Equal(t, "next", records[count].Kind)
	}
}

func TestDamageBeforeTheEndIsNamed(t *testing.T) {
	store, folder := open(t)
	session := create(t, store, "r1")
	for range 3 {
		require.NoError(t, session.Append("call", map[string]any{"text": "abc"}, false))
	}
	require.NoError(t, session.Close())
	whole, err := os.ReadFile(filepath.Join(folder, ".savant", "sessions", "r1.journal"))
	require.NoError(t, err)
	for i := range len(whole) / 2 {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= 4
		write(t, folder, damaged)
		_, _, err := store.Resume("r1")
		require.ErrorIs(t, err, fault.StateCorrupt, i)
		require.ErrorContains(t, err, "r1.journal")
	}
}

// TestAStepIsReadAlone reads the records of a step from a journal in which another record is
// damaged, and which has the beginning of one in a text.
func TestAStepIsReadAlone(t *testing.T) {
	store, folder := open(t)
	session := create(t, store, "r1")
	for step := range 12 {
		for _, kind := range []string{"decision", "call"} {
			require.NoError(t, session.Append(kind, struct {
				Step int    `json:"step"`
				Args any    `json:"args"`
				Text string `json:"text"`
			}{step, map[string]any{"data": json.RawMessage(`{"step":1,"n":0}`)}, `"data":{"step":11,`}, false))
		}
	}
	require.NoError(t, session.Close())
	file := filepath.Join(folder, ".savant", "sessions", "r1.journal")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	write(t, folder, bytes.Replace(whole, []byte(`"step":5`), []byte(`"step":6`), 1))
	_, err = store.Records("r1")
	require.ErrorIs(t, err, fault.StateCorrupt)
	for step, count := range map[int]int{0: 2, 4: 2, 11: 2, 12: 0} {
		records, err := store.StepRecords("r1", step)
		require.NoError(t, err, step)
		require.Len(t, records, count, step)
	}
	_, err = store.StepRecords("r1", 6)
	require.ErrorIs(t, err, fault.StateCorrupt, "what is read is checked")
	_, err = store.StepRecords("r2", 1)
	require.ErrorIs(t, err, fault.UnknownRun)
	_, err = store.StepRecords("../r1", 1)
	require.Error(t, err)
}

func TestNames(t *testing.T) {
	store, _ := open(t)
	create(t, store, "r1")
	_, err := store.Create("r1")
	require.ErrorIs(t, err, fault.IDCollision)
	for _, id := range []string{"", "../x", "a/b", "a.b", ".a", "é"} {
		_, err := store.Create(id)
		require.ErrorIs(t, err, fault.InvalidParams)
		require.ErrorIs(t, store.Cancel(id), fault.InvalidParams)
	}
	_, _, err = store.Resume("unknown")
	require.ErrorIs(t, err, fault.UnknownRun)
	require.ErrorIs(t, store.Cancel("unknown"), fault.UnknownRun)
	_, err = store.Records("unknown")
	require.ErrorIs(t, err, fault.UnknownRun)
	_, err = store.Snapshot("r1") // before the first snapshot
	require.ErrorIs(t, err, fault.UnknownRun)
}

func TestListAndCancel(t *testing.T) {
	store, _ := open(t)
	list, err := store.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	for _, id := range []string{"a", "b"} {
		session := create(t, store, id)
		_, err := session.Save()
		require.NoError(t, err)
		defer func() { require.NoError(t, session.Close()) }()
	}
	list, err = store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "b", list[0].SessionID)
	require.False(t, store.Canceled("a"))
	require.NoError(t, store.Cancel("a"))
	require.NoError(t, store.Cancel("a"))
	require.True(t, store.Canceled("a"))
	require.False(t, store.Canceled("b"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = store.List(ended)
	require.ErrorIs(t, err, context.Canceled)
}

func TestASnapshotThatCannotBeWrittenIsAnErrorAndNoMore(t *testing.T) {
	store, folder := open(t)
	session := create(t, store, "r1")
	session.Remember(called(1, 10))
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant", "session.json"), 0o700))
	_, err := session.Save()
	require.ErrorIs(t, err, fault.StateNotSaved)
	require.NoError(t, session.Append("call", nil, true), "the journal goes on")
	require.NoError(t, session.Close())
}

// TestMissingSectorsOfTheLastLineAreDropped: a crash may keep the newline of the last line
// and lose whole sectors before it, which are zero then. Any other change of
// the last line is damage, since what it says may have been acted on.
func TestMissingSectorsOfTheLastLineAreDropped(t *testing.T) {
	const sector = 512
	store, folder := open(t)
	session := create(t, store, "r1")
	require.NoError(t, session.Append("started", nil, true))
	file := filepath.Join(folder, ".savant", "sessions", "r1.journal")
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, session.Append("call", map[string]any{"text": strings.Repeat("x", 4*sector)}, true))
	require.NoError(t, session.Close())
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for from := len(before); from/sector < len(whole)/sector; from = (from/sector + 1) * sector {
		torn := bytes.Clone(whole)
		clear(torn[from : (from/sector+1)*sector])
		write(t, folder, torn)
		again, records, err := store.Resume("r1")
		require.NoError(t, err, from)
		require.Len(t, records, 1, from)
		require.NoError(t, again.Append("next", nil, true))
		require.NoError(t, again.Close())
		records, err = store.Records("r1")
		require.NoError(t, err)
		require.Equal(t, "next", records[1].Kind)
	}
	for at := len(before); at < len(whole); at += 97 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 4
		write(t, folder, damaged)
		_, _, err := store.Resume("r1")
		require.ErrorIs(t, err, fault.StateCorrupt, at)
	}
}
