package guide_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	"savant/think/library"
)

const askYAML = `name: ask
version: "1.0"
description: Asks for a word.
params:
  count: {type: integer, required: true}
  loud: {type: boolean}
  size: {enum: [small, large, 3]}
  place: {type: string, default: here}
steps:
  - {id: word, call: llm.generate, input_template: {task: "Say {{ count }} words"}, capture_as: word}
outputs: {word: '{{ word }}'}
`

func files() fstest.MapFS {
	return fstest.MapFS{
		"workflows/ask.yaml":    {Data: []byte(askYAML)},
		"workflows/broken.yaml": {Data: []byte("name: [")},
		"schemas/Word.json":     {Data: []byte(`{"type":"string"}`)},
	}
}

func open(t *testing.T, layers ...library.Layer) (*think.Engine, engines.Offer) {
	t.Helper()
	engine := think.New(think.Options{Library: library.New(append([]library.Layer{{Files: savant.Files}}, layers...)...),
		Store: statetest.NewMemory(), Now: time.Now})
	t.Cleanup(engine.Close)
	catalog, err := guide.Catalog(t.Context(), engine)
	require.NoError(t, err)
	return engine, catalog
}

func TestPromptsAreWorkflowsWithTypedArguments(t *testing.T) {
	_, catalog := open(t, library.Layer{Files: files()})
	prompts, err := catalog.Prompts(t.Context())
	require.NoError(t, err)
	byName := map[string]engines.Prompt{}
	for _, prompt := range prompts {
		byName[prompt.Name] = prompt
	}
	require.NotContains(t, byName, "broken")
	driver, err := byName["driver"].Get(t.Context(), engines.Caller{}, nil)
	require.NoError(t, err)
	require.Equal(t, catalog.Instructions, driver)
	_, err = byName["driver"].Get(t.Context(), engines.Caller{}, map[string]string{"version": "none"})
	require.ErrorIs(t, err, fault.PromptNotFound)
	text, err := byName["ask"].Get(t.Context(), engines.Caller{}, map[string]string{"count": " 2", "loud": "true", "place": "7", "size": "small"})
	require.NoError(t, err)
	require.Contains(t, text, `{"params":{"count":2,"loud":true,"place":"7","size":"small"},"workflow":"ask"}`)
	_, err = byName["ask"].Get(t.Context(), engines.Caller{}, map[string]string{"count": "many"})
	require.ErrorIs(t, err, fault.InvalidParams)
}

func TestResourcesAreRead(t *testing.T) {
	engine, catalog := open(t, library.Layer{Files: files()})
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "ask", RunID: "r", Params: map[string]any{"count": 1}})
	require.NoError(t, err)
	list, err := catalog.Resources(t.Context())
	require.NoError(t, err)
	for _, resource := range list {
		_, mimeType, err := catalog.ReadResource(t.Context(), resource.URI)
		require.NoError(t, err, resource.URI)
		require.Equal(t, resource.MIMEType, mimeType)
	}
	read := func(uri string) (string, error) {
		text, _, err := catalog.ReadResource(t.Context(), uri)
		return text, err
	}
	text, err := read("savant://workflows/broken")
	require.NoError(t, err, "reading a broken file is how it is mended")
	require.Equal(t, "name: [", text)
	_, err = read("savant://runs/ask/r/outputs")
	require.ErrorIs(t, err, fault.InvalidTransition)
	_, err = read("savant://runs/ask/r/vars/word")
	require.ErrorIs(t, err, fault.UnresolvedVar)
	_, err = engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "word", ResultSnapshot: json.RawMessage(`"so"`)})
	require.NoError(t, err)
	for uri, want := range map[string]string{"vars/word": `"so"`, "outputs": `{"word":"so"}`} {
		text, err := read("savant://runs/ask/r/" + uri)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
	text, err = read("savant://runs/ask/r/steps/word")
	require.NoError(t, err)
	require.Contains(t, text, `"status":"done"`)
	for uri, code := range map[string]fault.Code{"savant://workflows/none": fault.UnknownWorkflow, "savant://runs/ask": fault.UnknownRun,
		"savant://runs/ask/r/more": fault.InvalidParams, "savant://x": fault.InvalidParams, "savant://schemas/None": fault.SchemaNotFound} {
		_, err := read(uri)
		require.ErrorIs(t, err, code, uri)
	}
}

func TestArgumentsAreCompleted(t *testing.T) {
	engine, catalog := open(t, library.Layer{Files: files()})
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "ask", RunID: "run1", Params: map[string]any{"count": 1}})
	require.NoError(t, err)
	for _, c := range []struct {
		ref, argument, prefix string
		chosen                map[string]string
		want                  []string
	}{
		{"", "workflow", "as", nil, []string{"ask"}},
		{"ask", "version", "", nil, []string{"1.0"}},
		{"", "schema", "Wo", nil, []string{"Word"}},
		{"", "run_id", "run", map[string]string{"workflow": "ask"}, []string{"run1"}},
		{"", "step_id", "", map[string]string{"workflow": "ask", "run_id": "run1"}, []string{"word"}},
		{"", "step_id", "w", map[string]string{"workflow": "ask"}, []string{"word"}},
		{"ask", "loud", "", nil, []string{"false", "true"}},
		{"ask", "size", "", nil, []string{"small", "large", "3"}},
		{"ask", "place", "", nil, []string{"here"}},
		{"ask", "none", "", nil, []string{}},
	} {
		got, err := catalog.Complete(t.Context(), c.ref, c.argument, c.prefix, c.chosen)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.argument)
	}
}

func TestChangesOfFilesAreNotified(t *testing.T) {
	folder := t.TempDir()
	_, catalog := open(t, library.Layer{Files: os.DirFS(folder), Folder: folder})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	notified, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- catalog.Watch(ctx, func(list string) { notified <- list }) }()
	// The watch may begin after a write, which it then does not notice: write
	// until it does.
	var first string
	for first == "" {
		require.NoError(t, ctx.Err())
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "ask.yaml"), []byte(askYAML+"# "+time.Now().String()), 0o644))
		select {
		case first = <-notified:
		case <-time.After(200 * time.Millisecond):
		}
	}
	require.Equal(t, "prompts", first)
	require.Equal(t, "resources", <-notified)
	cancel()
	require.NoError(t, <-ended)
}

func TestTheClientBehindACallIsAsked(t *testing.T) {
	engine, _ := open(t, library.Layer{Files: files()})
	require.Nil(t, guide.Caller(engines.Call{}).Ask)
	client := guide.Caller(engines.Call{Caller: engines.Caller{Person: engines.PersonFunc(func(_ context.Context, asked engines.Elicitation) (engines.Answer, error) {
		require.Contains(t, string(asked.Schema), "count")
		return engines.Answer{Action: "accept", Content: json.RawMessage(`{"count":2}`)}, nil
	})}})
	reply, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "ask", RunID: "r", Caller: client})
	require.NoError(t, err)
	require.Contains(t, string(reply.Instruction.Input), "Say 2 words")
}

func TestRunsAreListedInPages(t *testing.T) {
	engine, _ := open(t, library.Layer{Files: files()})
	const runs = 310
	for i := range runs {
		_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "ask", RunID: fmt.Sprint("r", i), Params: map[string]any{"count": 1}})
		require.NoError(t, err)
	}
	table := engines.NewRegistry(engines.Options{})
	require.NoError(t, table.Add(guide.Tools(engine, guide.Hooks{})...))
	seen := map[string]bool{}
	for _, page := range []struct{ offset, want int }{{0, 300}, {300, 10}, {400, 0}} {
		result, err := table.Invoke(t.Context(), engines.Call{}, "think.state.list", json.RawMessage(fmt.Sprintf(`{"limit":1000,"offset":%d}`, page.offset)))
		require.NoError(t, err)
		list, ok := result.Value.(*think.StateList)
		require.True(t, ok)
		require.Equal(t, runs, list.Total)
		require.Len(t, list.Runs, page.want)
		for _, run := range list.Runs {
			seen[run.Run] = true
		}
	}
	require.Len(t, seen, runs)
}
