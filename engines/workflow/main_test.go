package workflow_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"savant/engines"
	"savant/engines/workflow"
	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tools are a Toolbox by function.
type tools func(ctx context.Context, name string, args json.RawMessage) (engines.Result, error)

func (f tools) Invoke(ctx context.Context, _ engines.Call, name string, args json.RawMessage) (engines.Result, error) {
	return f(ctx, name, args)
}

// gives returns a result.
func gives(text string) (engines.Result, error) {
	return engines.Result{JSON: json.RawMessage(text)}, nil
}

// bench is a Driver over one store and the workflows of a test.
type bench struct {
	t      require.TestingT
	think  *think.Engine
	driver *workflow.Driver
	mu     sync.Mutex
	events []workflow.Event
}

// setup returns a bench; each workflow is a whole file, by its name.
func setup(t *testing.T, store state.Storage, files map[string]string, options workflow.Options) *bench {
	t.Helper()
	b := &bench{t: t, think: engine(t, store, files)}
	options.Think = b.think
	b.driver = workflow.New(options)
	t.Cleanup(b.driver.Close)
	return b
}

func engine(t *testing.T, store state.Storage, files map[string]string) *think.Engine {
	t.Helper()
	made := newEngine(store, files)
	t.Cleanup(made.Close)
	return made
}

func newEngine(store state.Storage, files map[string]string) *think.Engine {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree["workflows/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	if store == nil {
		store = statetest.NewMemory()
	}
	var mu sync.Mutex
	ids := 0
	return think.New(think.Options{Library: library.New(library.Layer{Files: tree}), Store: store, Now: time.Now,
		NewID: func() string {
			mu.Lock()
			defer mu.Unlock()
			ids++
			return "fresh" + string(rune('0'+ids))
		}})
}

// one is a workflow "main" of the steps that are given.
func one(steps string) map[string]string {
	return map[string]string{"main": "name: main\nversion: \"1\"\n" + steps}
}

// main is the request for it.
var request = workflow.Request{Workflow: "main", RunID: "r"}

func (b *bench) watch(event workflow.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event)
}

// run drives the run "r" of "main" to where it stops.
func (b *bench) run(ctx context.Context) *workflow.Outcome {
	outcome, err := b.driver.Run(ctx, engines.Call{}, request, b.watch)
	require.NoError(b.t, err)
	return outcome
}

// status returns the status of a step of the run.
func (b *bench) status(step string) (flow.Status, string) {
	explained, err := b.think.Explain(context.Background(), think.ExplainInput{Workflow: "main", RunID: "r", StepID: step})
	require.NoError(b.t, err)
	for _, each := range explained.Why {
		if code, is := each.Value.(fault.Code); is {
			return explained.Status, string(code) + ": " + each.Message
		}
	}
	return explained.Status, ""
}
