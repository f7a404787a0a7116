package think_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/library"
	"savant/think/state"
)

// world is everything a server is wired with, over one folder.
type world struct {
	root     string
	store    *state.Dir
	engine   *think.Engine
	registry *engines.Registry
}

// scenarioTools are the tools "tool.*" that a scenario's registry knows; of
// every other engine it knows all.
var scenarioTools = []string{"tool.echo", "tool.read", "tool.search", "tool.write"}

// worldTools are the tools of a scenario.
type worldTools struct {
	think.AnyTools
	registry *engines.Registry
}

// Names implements think.Tools.
func (worldTools) Names() []string { return scenarioTools }

// Known implements think.Tools.
func (worldTools) Known(name string) bool {
	return !strings.HasPrefix(name, "tool.") || slices.Contains(scenarioTools, name)
}

// openWorld opens a folder as a server does: the bundled files below, those of
// the folder above, and a clock that stands still but for the folder's file
// "clock", so that two processes agree on the time.
func openWorld(root string) (*world, error) {
	now := folderClock(root)
	store, err := state.Open(root, state.Options{Now: now})
	if err != nil {
		return nil, err
	}
	registry := engines.NewRegistry(engines.Options{Artifacts: store, Receipts: timedReceipts{store, now}})
	engine := think.New(think.Options{
		Library:  library.New(library.Layer{Files: savant.Files}, library.Layer{Files: os.DirFS(root), Folder: root}),
		Store:    store,
		Tools:    worldTools{registry: registry},
		Now:      now,
		NewID:    func() string { return "fresh" },
		Receipts: worldReceipts{store},
	})
	if err := registry.Add(append(guide.Tools(engine, guide.Hooks{}), witnessedTools()...)...); err != nil {
		return nil, err
	}
	return &world{root: root, store: store, engine: engine, registry: registry}, nil
}

// timedReceipts keeps receipts with the time of the folder's clock.
type timedReceipts struct {
	store *state.Dir
	now   func() time.Time
}

// PutReceipt implements engines.ReceiptStore.
func (r timedReceipts) PutReceipt(ctx context.Context, receipt engines.Receipt) error {
	receipt.Time = r.now()
	return r.store.PutReceipt(ctx, receipt)
}

// Asked implements think.Tools: what is not in the registry takes its input as it is.
func (w worldTools) Asked(call string, input json.RawMessage) (tool, digest string, err error) {
	if _, ok := w.registry.Resolve(call); ok {
		return guide.CallDigest(w.registry, call, input)
	}
	return call, inputDigest(input), nil
}

// worldReceipts are receipts of a folder in which nobody looks for the latest call.
type worldReceipts struct{ *state.Dir }

// LatestCall implements state.Receipts.
func (worldReceipts) LatestCall(context.Context, string, string) (latest state.LatestCall, err error) {
	return latest, nil
}

func inputDigest(input json.RawMessage) string {
	value, err := jsonvalue.Decode(input)
	if err != nil {
		return ""
	}
	digest, _ := jsonvalue.Digest(value) // what was decoded has one
	return digest
}

// keepReceipt leaves a receipt as a call in another process does.
func keepReceipt(t *testing.T, root string, receipt state.Receipt) {
	t.Helper()
	store, err := state.Open(root, state.Options{})
	require.NoError(t, err)
	receipt.Time = folderClock(root)()
	require.NoError(t, store.PutReceipt(t.Context(), receipt))
	require.NoError(t, store.Close())
}

type (
	readInput struct {
		Path string `json:"path,omitempty"`
	}
	payInput struct {
		Amount int `json:"amount,omitempty"`
	}
	largeInput struct {
		Bytes int `json:"bytes"`
	}
)

// witnessedTools are tools that a script can call through the registry.
func witnessedTools() []engines.Tool {
	tools := []engines.Tool{
		engines.Bind("tool.read", "Reads.", func(_ context.Context, in readInput) (any, error) {
			return map[string]any{"text": "what stands in " + in.Path}, nil
		}),
		engines.Bind("tool.search", "Finds much.", func(_ context.Context, in largeInput) (any, error) {
			return map[string]any{"text": strings.Repeat("x", in.Bytes)}, nil
		}),
		engines.Bind("m.pay", "Is lost in the call.", func(context.Context, payInput) (any, error) {
			return nil, fault.New(fault.EngineOffline, "m ended before it answered pay; it is not known whether the call had an effect").OutcomeUnknown()
		}),
		engines.Bind("tool.write", "Fails.", func(context.Context, readInput) (any, error) {
			return nil, fault.New(fault.ToolFailed, "the disk is full")
		}),
	}
	for i := range tools {
		tools[i].Title = tools[i].Name
	}
	return tools
}

func (w *world) close() {
	w.engine.Close()
	_ = w.store.Close()
}

func folderClock(root string) func() time.Time {
	start := time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		text, err := os.ReadFile(filepath.Join(root, "clock"))
		if err != nil {
			return start
		}
		passed, err := time.ParseDuration(strings.TrimSpace(string(text)))
		if err != nil {
			return start
		}
		return start.Add(passed)
	}
}
