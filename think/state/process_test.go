package state_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/state"
)

// A test binary started with these in its environment is not a test but a
// process that appends to runs and prints the version of each record once it
// is acknowledged: "run version".
const (
	childFolder = "SAVANT_STATE_TEST_FOLDER"
	childRuns   = "SAVANT_STATE_TEST_RUNS"
	childCount  = "SAVANT_STATE_TEST_COUNT" // records a run is to have
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(childFolder); folder != "" {
		count, err := strconv.Atoi(os.Getenv(childCount))
		if err == nil {
			err = appendAsChild(folder, strings.Split(os.Getenv(childRuns), ","), count, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// appendAsChild appends to the runs in turn, as one of several processes,
// until each has its records.
func appendAsChild(folder string, runs []string, count int, acknowledged io.Writer) error {
	store, err := state.Open(folder, state.Options{})
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // the start signal
		return err
	}
	for left := len(runs); left > 0; {
		left = 0
		for _, run := range runs {
			key := state.Key{Workflow: "w", Run: run}
			version, _, err := store.Head(context.Background(), key)
			if err != nil {
				return err
			}
			if version >= count {
				continue
			}
			left++
			_, err = store.Append(context.Background(), key, childRecord(version+1, os.Getpid()))
			if errors.Is(err, fault.StateConflict) {
				continue
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(acknowledged, "%s %d\n", run, version+1)
		}
	}
	return store.Close()
}

func childRecord(version, process int) state.Record {
	data := fmt.Sprintf(`{"process":%d,"text":"%s"}`, process, strings.Repeat("x", 900))
	return state.Record{Version: version, Kind: "result", Data: json.RawMessage(data), State: "h"}
}

// child is a process of the test binary that appends.
func child(folder string, runs []string, count int) *exec.Cmd {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childFolder+"="+folder,
		childRuns+"="+strings.Join(runs, ","), childCount+"="+strconv.Itoa(count),
		"GORACE=atexit_sleep_ms=0") // else a race build sleeps a second at its end
	command.Stderr = os.Stderr
	return command
}

func createRuns(t *testing.T, folder string, runs []string) {
	store := openDir(t, folder)
	for _, run := range runs {
		_, err := store.Append(context.Background(), state.Key{Workflow: "w", Run: run}, childRecord(1, 0))
		require.NoError(t, err)
	}
}

// TestEightProcesses appends from eight processes at once: each version of
// each run is accepted from exactly one.
func TestEightProcesses(t *testing.T) {
	for name, runs := range map[string][]string{"one run": {"a"}, "many runs": {"a", "b", "c", "d", "e", "f"}} {
		t.Run(name, func(t *testing.T) {
			const processes = 8
			count := 30
			if os.Getenv("CI") != "" {
				count = 120
			}
			folder := t.TempDir()
			createRuns(t, folder, runs)
			outputs := make([]bytes.Buffer, processes)
			children := make([]*exec.Cmd, processes)
			starts := make([]io.Closer, processes)
			for i := range children {
				children[i] = child(folder, runs, count)
				children[i].Stdout = &outputs[i]
				starts[i], _ = children[i].StdinPipe()
				require.NoError(t, children[i].Start())
			}
			for _, start := range starts {
				require.NoError(t, start.Close())
			}
			acceptedBy := map[string]int{}
			for i, running := range children {
				require.NoError(t, running.Wait())
				for line := range strings.Lines(outputs[i].String()) {
					require.NotContains(t, acceptedBy, line, "accepted twice")
					acceptedBy[line] = running.Process.Pid
				}
			}
			require.Len(t, acceptedBy, len(runs)*(count-1))
			requireRecordsFrom(t, folder, runs, acceptedBy)
		})
	}
}

// requireRecordsFrom: each record belongs to the process whose append was acknowledged.
func requireRecordsFrom(t *testing.T, folder string, runs []string, acceptedBy map[string]int) {
	store := openDir(t, folder)
	for _, run := range runs {
		records, err := store.Records(context.Background(), state.Key{Workflow: "w", Run: run}, 1, 0)
		require.NoError(t, err)
		for _, record := range records {
			var data struct{ Process int }
			require.NoError(t, json.Unmarshal(record.Data, &data))
			require.Equal(t, acceptedBy[fmt.Sprintf("%s %d\n", run, record.Version)], data.Process)
		}
	}
}

// TestKilledAtRandomMoments ends a process with SIGKILL again and again: what
// it was acknowledged is there, and a lock it held blocks nobody.
func TestKilledAtRandomMoments(t *testing.T) {
	kills := 10
	if os.Getenv("CI") != "" {
		kills = 200
	}
	folder := t.TempDir()
	runs := []string{"a", "b", "c", "d"}
	createRuns(t, folder, runs)
	acknowledged := map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}
	random := rand.New(rand.NewPCG(1, 2))
	for range kills {
		killOne(t, folder, runs, acknowledged, random.IntN(40))
		store, err := state.Open(folder, state.Options{})
		require.NoError(t, err)
		for _, run := range runs {
			key := state.Key{Workflow: "w", Run: run}
			records, err := store.Records(context.Background(), key, 0, 0)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(records), acknowledged[run])
			require.LessOrEqual(t, len(records), acknowledged[run]+1, "more than the one that was under way")
			_, err = store.Append(context.Background(), key, childRecord(len(records)+1, 0))
			require.NoError(t, err)
			acknowledged[run] = len(records) + 1
		}
		require.NoError(t, store.Close())
	}
}

// killOne runs a child and kills it some acknowledgements and a moment later.
func killOne(t *testing.T, folder string, runs []string, acknowledged map[string]int, after int) {
	running := child(folder, runs, 1_000_000)
	output, err := running.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, running.Start())
	lines := bufio.NewScanner(output)
	for n := 0; lines.Scan(); n++ {
		if n == after {
			time.Sleep(time.Duration(after*7) * time.Microsecond) // anywhere within a step
			require.NoError(t, running.Process.Kill())
		}
		run, version, ok := strings.Cut(lines.Text(), " ")
		if number, err := strconv.Atoi(version); ok && err == nil {
			acknowledged[run] = max(acknowledged[run], number)
		}
	}
	require.Error(t, running.Wait(), "it was killed")
}
