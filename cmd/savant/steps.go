package main

import (
	"fmt"
	"io"
	"time"

	"savant/engines/workflow"
	"savant/fault"
	"savant/think/flow"
)

// stepLines shows the steps of a driven run, one line for each that ended. At a
// terminal a last line says what is being done, and each line how long it took.
type stepLines struct {
	out                io.Writer
	terminal, coloured bool
}

// clearLine takes the cursor to the start of an empty line (ECMA-48: CR, EL).
const clearLine = "\r\x1b[K"

// maxWhy is how much of a failure a line has, in bytes.
const maxWhy = 300

func (s *stepLines) tell(event workflow.Event) {
	if event.Kind == workflow.Begins {
		if s.terminal {
			fmt.Fprintf(s.out, "%s… %s %s", clearLine, visible(event.StepID), visible(event.Call))
		}
		return
	}
	colour, mark := faint, string(event.Kind)
	switch {
	case event.Kind == workflow.Settled && event.Status == flow.Done:
		colour, mark = green, "done"
	case event.Kind == workflow.Settled:
		colour, mark = red, string(event.Status)
	case event.Kind == workflow.Refused:
		colour = red
	}
	painter := display{coloured: s.coloured}
	line := fmt.Sprintf("%s %s %s", painter.paint(colour, fmt.Sprintf("%-7s", mark)), visible(event.StepID), visible(event.Call))
	if event.Kind == workflow.Refused {
		line += fmt.Sprintf(" (attempt %d)", event.Attempt)
	}
	if s.terminal {
		line = clearLine + line + painter.paint(faint, " "+event.Elapsed.Round(time.Millisecond).String())
	}
	if event.Why != "" {
		line += ": " + visible(fault.Cut(event.Why, maxWhy))
	}
	if event.Wait > 0 {
		line += fmt.Sprintf("; again in %v", event.Wait)
	}
	fmt.Fprintln(s.out, line)
}
