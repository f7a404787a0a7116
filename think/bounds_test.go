package think_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The bounds that DESIGN.md promises, in bytes of JSON.
const (
	maxReply = 3700
	maxError = 20_000
)

// checkSize holds a reply against its bound: an error under 20 KB, what plan
// and next answer under 3,700 characters for each instruction, but for the
// rendered inputs.
func checkSize(t require.TestingT, command string, reply json.RawMessage) {
	if isFault(reply) {
		require.Less(t, len(reply), maxError, "%s: %s", command, reply)
		return
	}
	if !strings.HasPrefix(command, "plan ") && !strings.HasPrefix(command, "next ") {
		return
	}
	inputs, instructions := renderedInputs(t, reply)
	if inputs < maxReply/2 {
		inputs = 0
	}
	require.Less(t, len(reply)-inputs, maxReply*max(1, instructions), "%s: %d bytes of input in %s", command, inputs, reply)
}

// renderedInputs counts the bytes of the inputs in a reply, and its instructions.
func renderedInputs(t require.TestingT, reply json.RawMessage) (size, count int) {
	type instruction struct {
		Input json.RawMessage `json:"input"`
	}
	var members struct {
		Instruction  instruction   `json:"instruction"`
		Instructions []instruction `json:"instructions"`
	}
	require.NoError(t, json.Unmarshal(reply, &members))
	for _, each := range append(members.Instructions, members.Instruction) {
		size += len(each.Input)
	}
	return size, len(members.Instructions)
}

// firstStep returns the id of the first instruction of a reply.
func firstStep(t *testing.T, reply json.RawMessage) string {
	t.Helper()
	var members struct {
		Instruction *struct {
			StepID string `json:"step_id"`
		}
		Instructions []struct {
			StepID string `json:"step_id"`
		}
	}
	require.NoError(t, json.Unmarshal(reply, &members))
	if members.Instruction != nil {
		return members.Instruction.StepID
	}
	require.NotEmpty(t, members.Instructions, string(reply))
	return members.Instructions[0].StepID
}

// fat is a workflow that has too much of everything, so its replies must be
// cut; its inputs have up to 1,500 characters.
func fat(parallel int) string {
	var out strings.Builder
	long := strings.Repeat("long text ", 200)
	fmt.Fprintf(&out, "name: fat\nversion: \"1\"\nlimits: {parallel: %d}\ndescription: %q\nsteps:\n", parallel, long)
	name := strings.Repeat("n", 60)
	var properties, artifacts []string
	for i := range 30 {
		properties = append(properties, fmt.Sprintf("property_number_%d: {type: string, description: %q}", i, long[:80]))
	}
	for i := range 30 {
		fmt.Fprintf(&out, "  - id: %s%d\n    call: tool.%s\n    capture_as: %s%d\n    rationale: %q\n    on_failure: continue\n", name, i, name, name, i, long)
		fmt.Fprintf(&out, "    input_template: {text: %q}\n", long[:i%4*500])
		fmt.Fprintf(&out, "    success_schema: {type: object, required: [property_number_0], properties: {%s}}\n", strings.Join(properties, ", "))
		artifacts = append(artifacts, fmt.Sprintf("  - {name: %q, from: \"[%d]\"}", long[:150], i))
	}
	for i := range 30 {
		fmt.Fprintf(&out, "  - id: set%d\n    call: flow.set\n    deps: [%s0]\n    input_template: {value: %q}\n    capture_as: set%d\n", i, name, long, i)
	}
	fmt.Fprintf(&out, "outputs: {all: [%s]}\nsummary: %q\nartifacts:\n%s\n", strings.Repeat("\"{{ run.id }} and more\", ", 300), long, strings.Join(artifacts, "\n"))
	return out.String()
}

// However much a workflow has to say, what plan and next answer is cut to what
// clients show, and errors stay under 20 KB.
func TestRepliesStayShort(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{1, 4} {
		t.Run(fmt.Sprintf("parallel %d", parallel), func(t *testing.T) { playFat(t, parallel) })
	}
}

func playFat(t *testing.T, parallel int) {
	root := t.TempDir()
	place(t, root, "fat.yaml", []byte(fat(parallel)))
	l := openLocal(t, root)
	defer l.close(t)
	call := func(tool, args string) json.RawMessage {
		reply := l.call(t, "think."+tool, json.RawMessage(args))
		checkSize(t, tool+" ", reply)
		return reply
	}
	call("plan", `{"workflow":"fat","run_id":"r"}`)
	for {
		reply := call("plan", `{"workflow":"fat","run_id":"r"}`)
		if member(t, reply, "done") == "true" {
			break
		}
		step := firstStep(t, reply)
		bad := `{"property_number_0":[` + strings.Repeat(`{"wrong":"value"},`, 200) + `1]}`
		call("next", `{"run_id":"r","step_id":"`+step+`","result_snapshot":`+bad+`}`)
		call("next", `{"run_id":"r","step_id":"`+step+`","result_snapshot":{"isError":true,"content":[{"type":"text","text":"`+strings.Repeat("no ", 20_000)+`"}]}}`)
		call("next", `{"run_id":"r","step_id":"`+step+`","result_snapshot":{"property_number_0":"`+strings.Repeat("fine ", 300)+`"}}`)
	}
}

func TestDriverPromptIsShort(t *testing.T) {
	t.Parallel()
	l := openLocal(t, t.TempDir())
	defer l.close(t)
	prompt := l.call(t, "think.driver_prompt", json.RawMessage(`{}`))
	require.Less(t, len(member(t, prompt, "prompt_md")), 3500)
}
