package statetest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/state"
)

// fewerChecks makes fewer random checks, or those of CI where it is set. A number that the
// command line gives stays.
func fewerChecks(t *testing.T, few, inCI int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value
	usual := checks.String()
	if os.Getenv("CI") != "" {
		few = inCI
	}
	if usual != "100" {
		return
	}
	require.NoError(t, checks.Set(strconv.Itoa(few)))
	t.Cleanup(func() { require.NoError(t, checks.Set(usual)) })
}

// testStorage tests a Storage against its contract. open returns an empty store and closes
// it when the test ends.
func testStorage(t *testing.T, open func(t *testing.T) state.Storage) {
	for name, test := range map[string]func(*testing.T, state.Storage){
		"journal":             testJournal,
		"journal refuses":     testJournalRefuses,
		"data":                testData,
		"names":               testNames,
		"unknown run":         testUnknownRun,
		"snapshot":            testSnapshot,
		"snapshot order":      testSnapshotOrder,
		"snapshot refuses":    testSnapshotRefuses,
		"checkpoints":         testCheckpoints,
		"list":                testList,
		"delete and undelete": testTrash,
		"begin again":         testBeginAgain,
		"artifacts":           testArtifacts,
		"one run, many":       testContention,
		"many runs":           testManyRuns,
		"model":               testModel,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// The run most tests use.
var sample = state.Key{Workflow: "review_pr", Run: "01J-a.b_c"}

// record returns the record of a version, not sealed.
func record(version int) state.Record {
	kind := "result"
	if version == 1 {
		kind = "plan"
	}
	return state.Record{Version: version, Kind: kind, Status: "running",
		Data: json.RawMessage(fmt.Sprintf(`{"step":"s%d"}`, version)), State: fmt.Sprintf("state%d", version)}
}

// begin creates a run with a number of records and returns them.
func begin(t testing.TB, store state.Storage, key state.Key, count int) []state.Record {
	first, err := store.Append(context.Background(), key, record(1))
	require.NoError(t, err)
	records := []state.Record{first}
	for version := 2; version <= count; version++ {
		next, err := store.Append(context.Background(), key, record(version))
		require.NoError(t, err)
		records = append(records, next)
	}
	return records
}

// snapshotOf returns the snapshot of a record.
func snapshotOf(of state.Record) state.Snapshot {
	return state.Snapshot{Version: of.Version, Status: "running", Hash: of.State, Record: of.Hash,
		State: json.RawMessage(fmt.Sprintf(`{"vars":{"html":"<&>","n":%d},"empty":{},"none":[]}`, of.Version))}
}

func requireCode(t testing.TB, code fault.Code, err error) {
	t.Helper()
	require.ErrorIs(t, err, code)
	var coded *fault.Error
	require.ErrorAs(t, err, &coded)
	require.NotEmpty(t, coded.Message())
}
