package guide_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/think/library"
)

const largeYAML = `name: large
version: "1.0"
params:
  text: {type: string, required: true}
  list: {type: array, required: true}
steps:
  - {id: first, call: llm.generate, input_template: {task: Read it, text: "{{ params.text }}", list: "{{ params.list }}"}, capture_as: read, success_schema: {type: object, required: [text]}}
  - {id: second, call: llm.generate, input_template: {task: Read it again, seen: "{{ read }}"}, capture_as: again}
outputs: {read: "{{ read }}"}
summary: "{{ read.text }}"
`

// tools returns a registry with Think's tools over a library.
func tools(t *testing.T, files fstest.MapFS) *engines.Registry {
	t.Helper()
	engine, _ := open(t, library.Layer{Files: files})
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(guide.Tools(engine, guide.Hooks{})...))
	return registry
}

// called calls a tool and returns its reply, or its error's, as the client gets it.
func called(t *testing.T, registry *engines.Registry, tool string, args any) (reply map[string]any, size int) {
	t.Helper()
	sent, err := json.Marshal(args)
	require.NoError(t, err)
	result, err := registry.Invoke(t.Context(), engines.Call{}, tool, sent)
	data := []byte(result.JSON)
	if err != nil {
		data, err = json.Marshal(fault.From(err))
		require.NoError(t, err)
	}
	require.NoError(t, json.Unmarshal(data, &reply))
	return reply, len(data)
}

// whole reads all parts of a value by its reference.
func whole(t *testing.T, registry *engines.Registry, ref any) string {
	t.Helper()
	var text strings.Builder
	for offset := 0.0; ; {
		part, size := called(t, registry, "think.artifact", map[string]any{"ref": ref, "offset": offset})
		require.Less(t, size, 64<<10)
		require.NotContains(t, part, "error")
		text.WriteString(part["text"].(string))
		next, more := part["next"].(float64)
		if !more {
			return text.String()
		}
		offset = next
	}
}

func at(value any, path ...string) any {
	for _, name := range path {
		value = value.(map[string]any)[name]
	}
	return value
}

// Whatever an instruction, an error, a capture, an output or a summary holds, a reply has
// at most 64 KB, and what was taken out is read in parts.
func TestNoReplyIsTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	registry := tools(t, fstest.MapFS{"workflows/large.yaml": {Data: []byte(largeYAML)}})
	text, list := strings.Repeat("ä\"\x01line\n", 60_000), make([]any, 20_000)
	for i := range list {
		list[i] = map[string]any{"$artifact": "data of somebody", "n": i}
	}
	planned, size := called(t, registry, "think.plan", map[string]any{"workflow": "large", "run_id": "r", "params": map[string]any{"text": text, "list": list}})
	require.Less(t, size, 64<<10)
	input := at(planned, "instruction", "input").(map[string]any)
	require.Equal(t, "Read it", input["task"], "what is short stays")
	require.EqualValues(t, len(text), at(input, "text", "size"))
	require.NotEmpty(t, at(input, "text", "preview"))
	require.Equal(t, text, whole(t, registry, at(input, "text", "$artifact")), "a text is paged as it is")
	var got []any
	require.NoError(t, json.Unmarshal([]byte(whole(t, registry, at(input, "list", "$artifact"))), &got))
	require.Len(t, got, len(list))

	refused, size := called(t, registry, "think.next", map[string]any{"run_id": "r", "step_id": "first", "result_snapshot": map[string]any{"no": "text"}})
	require.Equal(t, "VALIDATION_FAILED", refused["error"])
	require.Less(t, size, 64<<10, "an error repeats the instruction")
	require.Equal(t, at(input, "text", "$artifact"), at(refused, "instruction", "input", "text", "$artifact"))

	// A result with such members is data, whoever reads it.
	answer := map[string]any{"text": text, "$artifact": strings.Repeat("0", 64)}
	next, size := called(t, registry, "think.next", map[string]any{"run_id": "r", "step_id": "first", "result_snapshot": answer})
	require.Less(t, size, 64<<10)
	require.Equal(t, strings.Repeat("0", 64), at(next, "instruction", "input", "seen", "$artifact"))
	require.Equal(t, text, whole(t, registry, at(next, "instruction", "input", "seen", "text", "$artifact")))
	shown := at(next, "state", "vars", "read").(map[string]any)
	var capture map[string]any
	require.NoError(t, json.Unmarshal([]byte(whole(t, registry, shown["$artifact"])), &capture))
	require.Equal(t, text, capture["text"], "a capture is kept whole")

	done, size := called(t, registry, "think.next", map[string]any{"run_id": "r", "step_id": "second", "result_snapshot": "so"})
	require.Equal(t, true, done["done"])
	require.Less(t, size, 64<<10)
	require.Equal(t, text, whole(t, registry, at(done, "summary", "$artifact")))
	require.NoError(t, json.Unmarshal([]byte(whole(t, registry, at(done, "outputs", "$artifact"))), &capture))
	require.Equal(t, text, at(capture, "read", "text"))
	for _, tool := range []string{"think.state.get", "think.explain"} {
		_, size = called(t, registry, tool, map[string]any{"run_id": "r", "workflow": "large"})
		require.LessOrEqual(t, size, 64<<10, tool)
	}
	part, _ := called(t, registry, "think.state.get", map[string]any{"artifact": shown["$artifact"], "limit": 1000})
	require.NotEmpty(t, at(part, "artifact", "text"), "a reference is taken wherever one is")
}

// A workflow of any size is read in parts, too.
func TestALargeWorkflowIsRead(t *testing.T) {
	source := largeYAML + strings.Repeat("# a long comment\n", 10_000)
	registry := tools(t, fstest.MapFS{"workflows/large.yaml": {Data: []byte(source)}})
	read, size := called(t, registry, "think.workflows.read", map[string]any{"workflow": "large"})
	require.LessOrEqual(t, size, 64<<10)
	require.Equal(t, source, whole(t, registry, at(read, "yaml", "$artifact")))
}

func TestAReferenceOfNothing(t *testing.T) {
	registry := tools(t, fstest.MapFS{"workflows/large.yaml": {Data: []byte(largeYAML)}})
	for ref, code := range map[string]fault.Code{strings.Repeat("0", 64): fault.InvalidParams, "x": fault.InvalidParams, "": fault.InvalidParams, "savant://runs/large/none/vars/x": fault.UnknownRun,
		"savant://runs/": fault.InvalidParams, "../../etc/passwd": fault.InvalidParams} {
		reply, _ := called(t, registry, "think.artifact", map[string]any{"ref": ref})
		require.Equal(t, string(code), reply["error"], ref)
	}
	_, err := registry.Invoke(t.Context(), engines.Call{}, "think.artifact", json.RawMessage(`{"ref":"x","limit":32769}`))
	require.ErrorIs(t, err, fault.InvalidParams)
}
