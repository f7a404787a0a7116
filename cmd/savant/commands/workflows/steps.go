package workflows

import (
	"fmt"
	"io"
	"time"

	"savant/cmd/savant/terminal"
	"savant/engines/workflow"
	"savant/fault"
	"savant/think/flow"
)

// stepLines shows the steps of a driven run, one line for each that ended. At a
// terminal a last line says what is being done, and each line how long it took.
type stepLines struct {
	out                  io.Writer
	onTerminal, coloured bool
}

// maxWhy is how much of a failure a line has, in bytes.
const maxWhy = 300

func (s *stepLines) tell(event workflow.Event) {
	if event.Kind == workflow.Begins {
		if s.onTerminal {
			fmt.Fprintf(s.out, "%s… %s %s", terminal.ClearLine, terminal.Visible(event.StepID), terminal.Visible(event.Call))
		}
		return
	}
	colour, mark := terminal.Faint, string(event.Kind)
	switch {
	case event.Kind == workflow.Settled && event.Status == flow.Done:
		colour, mark = terminal.Green, "done"
	case event.Kind == workflow.Settled:
		colour, mark = terminal.Red, string(event.Status)
	case event.Kind == workflow.Refused:
		colour = terminal.Red
	}
	line := fmt.Sprintf("%s %s %s", terminal.Paint(s.coloured, colour, fmt.Sprintf("%-7s", mark)), terminal.Visible(event.StepID), terminal.Visible(event.Call))
	if event.Kind == workflow.Refused {
		line += fmt.Sprintf(" (attempt %d)", event.Attempt)
	}
	if s.onTerminal {
		line = terminal.ClearLine + line + terminal.Paint(s.coloured, terminal.Faint, " "+event.Elapsed.Round(time.Millisecond).String())
	}
	if event.Why != "" {
		line += ": " + terminal.Visible(fault.Cut(event.Why, maxWhy))
	}
	if event.Wait > 0 {
		line += fmt.Sprintf("; again in %v", event.Wait)
	}
	fmt.Fprintln(s.out, line)
}
