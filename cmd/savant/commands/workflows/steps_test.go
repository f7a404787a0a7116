package workflows

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/cmd/savant/terminal"
	"savant/engines/workflow"
	"savant/think/flow"
)

func TestStepsAreShownOneALine(t *testing.T) {
	events := []workflow.Event{
		{Kind: workflow.Begins, StepID: "a", Call: "git.log", Attempt: 1},
		{Kind: workflow.Refused, StepID: "a", Call: "git.log", Attempt: 1, Why: "TOOL_FAILED: no\x1b[2J", Wait: 2 * time.Second, Elapsed: time.Second},
		{Kind: workflow.Settled, StepID: "a", Call: "git.log", Attempt: 2, Status: flow.Done, Elapsed: 20 * time.Millisecond},
		{Kind: workflow.Settled, StepID: "b", Call: "ci.run", Status: flow.Failed, Why: strings.Repeat("x", 1000)},
		{Kind: workflow.Left, StepID: "c", Call: "llm.generate", Why: "nobody"},
	}
	show := func(lines stepLines) string {
		var out strings.Builder
		lines.out = &out
		for _, event := range events {
			lines.tell(event)
		}
		return out.String()
	}
	require.Equal(t, "refused a git.log (attempt 1): TOOL_FAILED: no\\u{1b}[2J; again in 2s\n"+
		"done    a git.log\n"+
		"failed  b ci.run: "+strings.Repeat("x", 297)+"…\n"+
		"left    c llm.generate: nobody\n", show(stepLines{}))
	shown := show(stepLines{onTerminal: true, coloured: true})
	require.Contains(t, shown, terminal.ClearLine+"… a git.log"+terminal.ClearLine+"\x1b[31mrefused\x1b[0m a git.log (attempt 1)\x1b[2m 1s\x1b[0m: ")
	require.Contains(t, shown, "\x1b[32mdone   \x1b[0m a git.log\x1b[2m 20ms\x1b[0m\n")
	require.NotContains(t, shown, "\x1b[2J")
}
