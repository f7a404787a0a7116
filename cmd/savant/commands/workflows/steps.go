package workflows

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/cmd/savant/terminal"
	"savant/engines/workflow"
	"savant/fault"
	"savant/think/flow"
)

// stepLines shows the steps of a driven run, one line per ended step. At a terminal a
// temporary last line shows the current step and its time, and each line the duration.
// The last line also says how far the step's tool is.
type stepLines struct {
	out                  io.Writer
	onTerminal, coloured bool
	now                  func() time.Time

	mu sync.Mutex // guards the following fields, and out
	// underway are the running steps, at a terminal; the newest is on the last line.
	underway []underway
	// told are the steps whose reasons were shown whole, with the reason: "tests: TOOL_FAILED: …".
	told []string
	// writing is the step whose model's text is on the last line; "" at the start of a
	// line.
	writing string
}

// underway is a running step.
type underway struct {
	step, doing string
	begun       time.Time
	reached     string // what its tool said last
}

// showSteps registers callbacks that show the steps of driven runs and their models'
// text. It must be called before the program is opened.
func (p *program) showSteps() *stepLines {
	lines := &stepLines{out: p.Stderr, onTerminal: terminal.Rewrites(p.Stderr, p.Variable), coloured: terminal.Coloured(p.Stderr, p.Variable), now: time.Now}
	p.Open.StepDisplay, p.Open.LogLines = lines, logLines{lines}
	return lines
}

// logLines shows lines of the log among the steps: each begins a line.
type logLines struct{ *stepLines }

// Write writes whole lines.
func (l logLines) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLine()
	if len(l.underway) > 0 {
		fmt.Fprint(l.out, terminal.ClearLine)
	}
	return l.out.Write(lines)
}

// WroteStep shows a piece of a model's text for a step.
func (s *stepLines) WroteStep(_, stepID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part := range strings.Lines(text) {
		line, ended := strings.CutSuffix(part, "\n")
		if s.writing == "" && line != "" {
			begin := fmt.Sprintf("%-7s %s: ", "writing", terminal.Visible(stepID))
			if s.onTerminal {
				begin = terminal.ClearLine + begin
			}
			fmt.Fprint(s.out, begin)
			s.writing = stepID
		}
		fmt.Fprint(s.out, terminal.Content(line))
		if ended {
			s.endLine()
		}
	}
}

// endLine ends a line that a model has begun. The caller holds the lock.
func (s *stepLines) endLine() {
	if s.writing != "" {
		fmt.Fprintln(s.out)
		s.writing = ""
	}
}

// maxWhy is how much of a failure a line shows, in bytes.
const maxWhy = 300

func (s *stepLines) tell(event workflow.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLine()
	switch event.Kind {
	case workflow.Begins:
		s.begins(event)
		return
	case workflow.Working:
		if i := s.find(event.StepID); i >= 0 {
			s.underway[i].reached = terminal.Visible(fault.Cut(event.Doing, maxWhy))
		}
		return
	}
	if i := s.find(event.StepID); i >= 0 {
		s.underway = slices.Delete(s.underway, i, i+1)
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
	if len(event.Why) <= maxWhy {
		s.told = append(s.told, event.StepID+": "+event.Why)
	}
	if event.Why != "" {
		line += ": " + terminal.Visible(fault.Cut(event.Why, maxWhy))
	}
	if event.Wait > 0 {
		line += fmt.Sprintf("; again in %v", event.Wait)
	}
	fmt.Fprintln(s.out, line)
}

func (s *stepLines) find(step string) int {
	return slices.IndexFunc(s.underway, func(u underway) bool { return u.step == step })
}

// begins shows a started step at a terminal.
func (s *stepLines) begins(event workflow.Event) {
	if !s.onTerminal {
		return
	}
	doing := event.StepID + " " + event.Call
	fmt.Fprintf(s.out, "%s… %s", terminal.ClearLine, terminal.Visible(doing))
	s.underway = append(s.underway, underway{step: event.StepID, doing: doing, begun: s.now()})
}

// tick shows the time of the newest step on the last line. It leaves a model's text.
func (s *stepLines) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.underway) == 0 || s.writing != "" {
		return
	}
	last := s.underway[len(s.underway)-1]
	fmt.Fprint(s.out, terminal.Elapsed(s.out, last.doing, s.now().Sub(last.begun), last.reached))
}

// during drives a run, updating the last line each second.
func (s *stepLines) during(drive func() (*workflow.Outcome, error)) (*workflow.Outcome, error) {
	stop := terminal.EverySecond(s.tick)
	defer s.forgetInterrupted()
	defer stop()
	return drive()
}

// forgetInterrupted forgets interrupted steps.
func (s *stepLines) forgetInterrupted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.underway) > 0 && s.writing == "" {
		fmt.Fprint(s.out, terminal.ClearLine)
	}
	s.underway = nil
}
