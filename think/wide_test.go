package think_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wideYAML reads pages, each handed to a step whole.
const wideYAML = `name: NAME
version: "1.0"
limits: {parallel: N}
params: {pages: {type: array, required: true, items: {type: string}}}
steps:
  - id: read
    call: llm.generate
    foreach: params.pages
    rationale: Each page is read by itself.
    input_template: {task: Sum up, page: "{{ item }}"}
    success_schema: {type: object, required: [summary], properties: {summary: {type: string, minLength: 1, maxLength: 400}, words: {type: array, items: {type: string}}}}
    retry: {max: 1}
    capture_as: read
  - {id: last, call: llm.generate, input_template: {task: "Say how many: {{ len(read) }}"}}
`

// client answers whatever it is handed, first come first served, and counts what
// it reads.
type client struct {
	t       *testing.T
	driver  driver
	run     string
	known   map[string]json.RawMessage // instructions that wait, whole
	order   []string
	largest int
	bytes   int
	copies  map[string]int
}

func (c *client) read(reply json.RawMessage) (done bool) {
	c.bytes, c.largest = c.bytes+len(reply), max(c.largest, len(reply))
	var got struct {
		Instruction  json.RawMessage
		Instructions []json.RawMessage
		Outstanding  []string
		Done         bool
		Error        string
	}
	require.NoError(c.t, json.Unmarshal(reply, &got))
	require.Empty(c.t, got.Error, string(reply))
	require.False(c.t, got.Instruction != nil && got.Instructions != nil, "one or several")
	require.NotEqual(c.t, 1, len(got.Instructions), "one alone is the instruction")
	if got.Instruction != nil {
		got.Instructions = append(got.Instructions, got.Instruction)
	}
	for _, id := range got.Outstanding {
		require.Contains(c.t, c.known, id, "an id stands for what was issued whole")
	}
	for _, each := range got.Instructions {
		id := member(c.t, each, "step_id")
		c.known[id], c.order = each, append(c.order, id)
		c.copies[id]++
	}
	require.Len(c.t, c.known, len(got.Outstanding)+len(got.Instructions), "what waits is issued or named")
	return got.Done
}

func (c *client) follow(workflow string, params any) {
	args, err := json.Marshal(map[string]any{"workflow": workflow, "run_id": c.run, "params": params})
	require.NoError(c.t, err)
	for done := c.read(c.driver.call(c.t, "think.plan", args)); !done; {
		require.NotEmpty(c.t, c.order, "something waits")
		id := c.order[0]
		c.order = c.order[1:]
		delete(c.known, id)
		args, err := json.Marshal(map[string]any{"workflow": workflow, "run_id": c.run, "step_id": id, "result_snapshot": map[string]any{"summary": "of " + id}})
		require.NoError(c.t, err)
		done = c.read(c.driver.call(c.t, "think.next", args))
	}
}

// A parallel run hands each instruction out once, in replies of a bounded size,
// and takes no more bytes than the serial one, plus a tenth.
func TestParallelRepliesStayShort(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, parallel := range map[string]string{"serial": "1", "parallel": "4", "many": "1000"} {
		place(t, root, name+".yaml", []byte(strings.NewReplacer("NAME", name, "N}", parallel+"}").Replace(wideYAML)))
	}
	l := openLocal(t, root)
	defer l.close(t)
	for _, size := range []int{10, 19_000, 70_000} {
		pages := make([]string, 6)
		for i := range pages {
			pages[i] = strings.Repeat(fmt.Sprintf("page %d ", i), size/7)
		}
		read := map[string]int{}
		for _, workflow := range []string{"serial", "parallel", "many"} {
			c := &client{t: t, driver: l, run: fmt.Sprintf("r%d", size), known: map[string]json.RawMessage{}, copies: map[string]int{}}
			c.follow(workflow, map[string]any{"pages": pages})
			for id, copies := range c.copies {
				require.Equal(t, 1, copies, "%s: %s is issued once", workflow, id)
			}
			require.Less(t, c.largest, max(60_000, size+4_000), workflow)
			read[workflow] = c.bytes
			l.reopen(t)
			replayed := l.call(t, "think.debug", json.RawMessage(fmt.Sprintf(`{"workflow":%q,"run_id":%q,"action":"replay"}`, workflow, c.run)))
			require.Equal(t, "identical", member(t, replayed, "verdict"), workflow)
		}
		require.LessOrEqual(t, read["parallel"], read["serial"]*11/10, "pages of %d", size)
		require.LessOrEqual(t, read["many"], read["serial"]*11/10, "pages of %d", size)
	}
}

// What does not fit waits as a step that is ready, and an answer that is refused
// repeats its own instruction.
func TestInstructionsThatDoNotFitWait(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, "wide.yaml", []byte(strings.NewReplacer("NAME", "wide", "N}", "6}").Replace(wideYAML)))
	l := openLocal(t, root)
	defer l.close(t)
	page := strings.Repeat("a page of text ", 1300)
	args, err := json.Marshal(map[string]any{"workflow": "wide", "run_id": "r", "params": map[string]any{"pages": []string{page, page, page, page, page, page}}})
	require.NoError(t, err)
	planned := l.call(t, "think.plan", args)
	var reply struct {
		Instructions []json.RawMessage
		Ready        []string
		Schemas      map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(planned, &reply))
	require.Len(t, reply.Instructions, 2)
	require.Equal(t, []string{"read_2", "read_3", "read_4", "read_5"}, reply.Ready)
	require.Contains(t, string(reply.Schemas["read"]), "summary", "once, under the step's name")
	require.Equal(t, "read", member(t, reply.Instructions[1], "success_schema"))
	waits := l.call(t, "think.next", json.RawMessage(`{"run_id":"r","step_id":"read_3","result_snapshot":{"summary":"x"}}`))
	require.Contains(t, string(waits), "INVALID_TRANSITION")
	refused := l.call(t, "think.next", json.RawMessage(`{"run_id":"r","step_id":"read_1","result_snapshot":"x"}`))
	require.Equal(t, "VALIDATION_FAILED", member(t, refused, "error"))
	require.Equal(t, "read_1", member(t, refused, "instruction", "step_id"))
	require.Contains(t, member(t, refused, "instruction", "success_schema"), "summary", "alone it has its schema whole")
	l.reopen(t)
	again := l.call(t, "think.plan", args)
	require.NoError(t, json.Unmarshal(again, &reply))
	require.Len(t, reply.Instructions, 2, "the same after a restart")
}
