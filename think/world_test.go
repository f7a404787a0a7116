package think_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"savant"
	"savant/engines"
	"savant/think"
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

func knownTool(name string) bool {
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
	engine := think.New(think.Options{
		Library:   think.NewLibrary(think.Layer{Name: "bundled", Files: savant.Files}, think.Layer{Files: os.DirFS(root)}),
		Store:     store,
		Root:      root,
		KnownTool: knownTool,
		ToolNames: func() []string { return scenarioTools },
		Now:       now,
		NewID:     func() string { return "fresh" },
	})
	registry := engines.NewRegistry(engines.Options{})
	if err := registry.Add(engine.Tools()...); err != nil {
		return nil, err
	}
	return &world{root: root, store: store, engine: engine, registry: registry}, nil
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
