package think_test

import (
	"encoding/json"
	"strings"

	"github.com/stretchr/testify/require"
)

// The bounds that DESIGN.md promises, in bytes of JSON.
const (
	maxReply = 3700
	maxError = 20_000
)

// checkSize holds a reply against its bound: an error under 20 KB, what plan
// and next answer under 3,700 characters but for the rendered inputs.
func checkSize(t require.TestingT, command string, reply json.RawMessage) {
	if isFault(reply) {
		require.Less(t, len(reply), maxError, "%s: %s", command, reply)
		return
	}
	if !strings.HasPrefix(command, "plan ") && !strings.HasPrefix(command, "next ") {
		return
	}
	if inputs := renderedInputs(t, reply); inputs < maxReply/2 {
		require.Less(t, len(reply), maxReply, "%s: %d bytes of input in %s", command, inputs, reply)
	} else {
		require.Less(t, len(reply)-inputs, maxReply, "%s: %d bytes of input in %s", command, inputs, reply)
	}
}

// renderedInputs counts the bytes of every copy of an input in a reply.
func renderedInputs(t require.TestingT, reply json.RawMessage) int {
	type instruction struct {
		Input    json.RawMessage `json:"input"`
		Template json.RawMessage `json:"input_template"`
	}
	var members struct {
		Instruction  instruction   `json:"instruction"`
		Instructions []instruction `json:"instructions"`
	}
	require.NoError(t, json.Unmarshal(reply, &members))
	size := 0
	for _, each := range append(members.Instructions, members.Instruction) {
		size += len(each.Input) + len(each.Template)
	}
	return size
}
