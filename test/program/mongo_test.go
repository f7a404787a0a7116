package program

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/test/mongotest"
	"savant/think/state"
	"savant/think/state/mongostate"
)

// scriptsOverMongo are scripts that say nothing of the files that runs are kept in.
var scriptsOverMongo = []string{"approve", "call", "past", "run_workflow", "runs", "state_change", "state_list"}

// TestScriptsOverMongo runs them, and those of testdata/mongo, with the runs in a
// database. The condition mongo holds in them: there a script starts the worker that
// agent.run needs.
func TestScriptsOverMongo(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	params := scripts()
	own, err := filepath.Glob(filepath.Join("testdata", "mongo", "*.txtar"))
	require.NoError(t, err)
	params.Dir, params.Files = "", own
	for _, name := range scriptsOverMongo {
		params.Files = append(params.Files, filepath.Join("testdata", "scripts", name+".txtar"))
	}
	if testing.Short() {
		params.Files = []string{filepath.Join("testdata", "mongo", "reasoning_queue.txtar")}
	}
	params.Condition = func(condition string) (bool, error) { return condition == "mongo", nil }
	within := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("SAVANT_STORE", "mongo")
		env.Setenv("MONGO_URI", server.URI(mongotest.NewDatabase()))
		env.Setenv("OTHER_URI", server.URI(mongotest.NewDatabase()))
		return within(env)
	}
	testscript.Run(t, params)
}

// Runs move at once through servers of several machines that share a database. Each
// server is killed, and the next, in another folder, goes on. In between the database
// is killed, too.
func TestRunsInADatabaseOutliveTheirServers(t *testing.T) {
	t.Parallel()
	const together, steps = 6, 20
	kills := 3
	if os.Getenv("CI") != "" {
		kills = 10
	}
	database := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, database, 1)
	uri, random := proxy.URI(mongotest.NewDatabase()), rand.New(rand.NewPCG(3, 4))
	acknowledged := make([]int, together)
	serve := func() *server {
		folder := t.TempDir()
		longWorkflow(t, folder, steps)
		return serveIn(t, folder, "SAVANT_STORE=mongo", "MONGO_URI="+uri)
	}
	for range kills {
		goOnTogether(t, serve(), acknowledged, steps, 1+random.IntN(together*steps/kills))
		if !database.Foreign() {
			database.Restart()
			proxy.Follow(database)
		}
	}
	goOnTogether(t, serve(), acknowledged, steps, together*(steps+1))
	store := storeOf(t, uri)
	for r := range acknowledged {
		require.Equal(t, steps, acknowledged[r])
		records, err := store.Records(t.Context(), state.Key{Workflow: "long", Run: fmt.Sprint("r", r)}, 0, 0)
		require.NoError(t, err)
		require.Len(t, records, steps+1, "each step is recorded once")
	}
	verify := exec.Command("savant", "verify", "r0")
	verify.Env = append(os.Environ(), "SAVANT_PATH="+t.TempDir(), "SAVANT_STORE=mongo", "MONGO_URI="+uri)
	out, err := verify.CombinedOutput()
	require.NoError(t, err, string(out))
}

// Of several processes that answer one step at the same moment, one is accepted. The
// others get an error that says so, and one of them is killed meanwhile.
func TestProcessesAnswerOneStep(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	const processes, steps = 4, 5
	database := mongotest.Start(t)
	uri, folder := database.URI(mongotest.NewDatabase()), t.TempDir()
	longWorkflow(t, folder, steps)
	call := func(tool, args string) *exec.Cmd {
		command := exec.Command("savant", "call", tool, "--args", args)
		command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "SAVANT_STORE=mongo", "MONGO_URI="+uri)
		return command
	}
	out, err := call("think.plan", `{"workflow": "long", "run_id": "r"}`).CombinedOutput()
	require.NoError(t, err, string(out))
	store, key := storeOf(t, uri), state.Key{Workflow: "long", Run: "r"}
	for step := range steps {
		said := make([]string, processes)
		var group sync.WaitGroup
		for process := range processes {
			answer := call("think.next", fmt.Sprintf(`{"run_id": "r", "step_id": "s%d", "result_snapshot": "of %d"}`, step, process))
			group.Go(func() {
				if process == 0 && step%2 == 1 {
					_ = answer.Start()
					_ = answer.Process.Kill()
					_ = answer.Wait()
					return
				}
				out, _ := answer.CombinedOutput()
				said[process] = string(out)
			})
		}
		group.Wait()
		records, err := store.Records(t.Context(), key, 0, 0)
		require.NoError(t, err)
		require.Len(t, records, step+2, strings.Join(said, "\n"))
		accepted := string(records[step+1].Data)
		for process, each := range said {
			if each == "" { // killed: it may have been the one
				continue
			}
			won := strings.Contains(accepted, fmt.Sprintf(`"of %d"`, process))
			refused := strings.Contains(each, "STATE_CONFLICT") || strings.Contains(each, "INVALID_TRANSITION")
			require.NotEqual(t, won, refused, "process %d of step %d: %s", process, step, each)
		}
	}
}

func storeOf(t *testing.T, uri string) *mongostate.Store {
	t.Helper()
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	store, err := mongostate.Open(database, mongostate.Options{})
	require.NoError(t, err)
	return store
}
