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
	show := func(lines *stepLines) string {
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
		"left    c llm.generate: nobody\n", show(&stepLines{}))
	shown := show(&stepLines{onTerminal: true, coloured: true, now: time.Now})
	require.Contains(t, shown, terminal.ClearLine+"… a git.log"+terminal.ClearLine+"\x1b[31mrefused\x1b[0m a git.log (attempt 1)\x1b[2m 1s\x1b[0m: ")
	require.Contains(t, shown, "\x1b[32mdone   \x1b[0m a git.log\x1b[2m 20ms\x1b[0m\n")
	require.NotContains(t, shown, "\x1b[2J")
}

// A terminal's last line says how far a step is that takes long; other streams have none,
// and nor has a step that is over.
func TestAStepThatTakesLongIsSpokenOf(t *testing.T) {
	for _, onTerminal := range []bool{true, false} {
		clock := time.Unix(0, 0)
		var out strings.Builder
		lines := stepLines{out: &out, onTerminal: onTerminal, now: func() time.Time { return clock }}
		event := workflow.Event{Kind: workflow.Begins, StepID: "a", Call: "ci.run", Attempt: 1}
		lines.tell(event)
		event.Kind, event.Doing = workflow.Working, "ok\x1b[2J pay"
		lines.tell(event)
		clock = clock.Add(1400 * time.Millisecond)
		lines.tick()
		event.Kind, event.Status = workflow.Settled, flow.Done
		lines.tell(event)
		clock = clock.Add(time.Hour)
		event.Kind = workflow.Working
		lines.tell(event)
		lines.tick()
		if onTerminal {
			require.Equal(t, terminal.ClearLine+"… a ci.run"+terminal.ClearLine+"… a ci.run 1s: ok\\u{1b}[2J pay"+
				terminal.ClearLine+"done    a ci.run 0s\n", out.String())
		} else {
			require.Equal(t, "done    a ci.run\n", out.String())
		}
	}
}

// The last line says for how long a step has gone on that says nothing, whatever else
// ends meanwhile; a step that was cut off leaves no such line.
func TestASilentStepShowsItsSeconds(t *testing.T) {
	clock := time.Unix(0, 0)
	var out strings.Builder
	lines := stepLines{out: &out, onTerminal: true, now: func() time.Time { return clock }}
	lines.tick()
	for _, step := range []string{"a", "b"} {
		lines.tell(workflow.Event{Kind: workflow.Begins, StepID: step, Call: "ci.run", Attempt: 1})
		clock = clock.Add(3100 * time.Millisecond)
		lines.tick()
	}
	lines.tell(workflow.Event{Kind: workflow.Settled, StepID: "b", Call: "ci.run", Status: flow.Done})
	lines.tick()
	lines.WroteStep("r", "a", "I think")
	lines.tick()
	lines.WroteStep("r", "a", "\n")
	lines.forgetInterrupted()
	lines.tick()
	require.Equal(t, terminal.ClearLine+"… a ci.run"+terminal.ClearLine+"… a ci.run 3s"+terminal.ClearLine+"… b ci.run"+terminal.ClearLine+"… b ci.run 3s"+
		terminal.ClearLine+"done    b ci.run 0s\n"+terminal.ClearLine+"… a ci.run 6s"+terminal.ClearLine+"writing a: I think\n"+terminal.ClearLine, out.String())
}

// What a model writes for a step is shown as it comes, and the lines of steps stay whole.
func TestWhatAModelWritesIsShown(t *testing.T) {
	var out strings.Builder
	lines := stepLines{out: &out}
	lines.WroteStep("r", "a", "{\"text\": ")
	lines.WroteStep("r", "a", "\"x\x1b[2J\"}\n\nand")
	lines.tell(workflow.Event{Kind: workflow.Settled, StepID: "b", Call: "git.log", Status: flow.Done})
	lines.WroteStep("r", "a", " more")
	lines.tell(workflow.Event{Kind: workflow.Settled, StepID: "a", Call: "llm.generate", Status: flow.Done})
	require.Equal(t, "writing a: {\"text\": \"x\\u{1b}[2J\"}\nwriting a: and\ndone    b git.log\nwriting a:  more\ndone    a llm.generate\n", out.String())
}
