package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/cmd/savant/terminal"
	"savant/telemetry"
)

// shownRun shows a run in progress: steps and the model's text on stderr, or events on
// stdout.
type shownRun struct {
	program *program
	want    runFlags

	asking sync.Mutex // held during a question

	mu sync.Mutex // guards what follows
	// amid: the model's text has not ended its line.
	amid bool
	// silent: no progress is shown, because a question is open or the run has ended.
	silent bool
	// calls are the running tools; since is the time of the last event, reached is how far
	// a tool has said to be after it.
	calls   []string
	since   time.Time
	reached string
	// unsaved: a step is not saved yet.
	unsaved bool
	// ticked: the last line is temporary and shows what is running.
	ticked bool
}

// deciding is shown while no tool runs.
const deciding = "deciding"

// tick updates the temporary last line: what is running, and for how long. It leaves a
// model's text.
func (s *shownRun) tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent || s.amid || s.since.IsZero() {
		return
	}
	doing := deciding
	if count := len(s.calls); count > 0 {
		doing = s.calls[count-1]
	}
	fmt.Fprint(s.program.Stderr, terminal.Elapsed(s.program.Stderr, doing, now.Sub(s.since), s.reached))
	s.ticked = true
}

// follow records what is running.
func (s *shownRun) follow(e telemetry.Event) {
	s.since, s.reached = time.Now(), ""
	switch e.Type {
	case telemetry.ToolCallStarted:
		s.calls = append(s.calls, e.ToolName)
	case telemetry.ToolCallCompleted:
		if i := slices.Index(s.calls, e.ToolName); i >= 0 {
			s.calls = slices.Delete(s.calls, i, i+1)
		}
	}
}

// Progress shows the progress of a long call at a terminal, unless little is to be shown.
func (s *shownRun) Progress(string) func(done, total float64, message string) {
	if !terminal.IsTerminal(s.program.Stderr) || s.want.quiet {
		return nil
	}
	return func(done, total float64, message string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reached = terminal.Reached(done, total, message)
	}
}

// Approve asks the person at the terminal about a destructive call, one at a time.
// It asks on stderr: stdout is only for the answer.
func (s *shownRun) Approve(ctx context.Context, tool string, args json.RawMessage) (bool, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	s.silence(true)
	defer s.silence(false)
	agreed, _ := terminal.Confirm(ctx, s.program.Stdin, s.program.Stderr, "Call "+terminal.Visible(tool)+" "+terminal.Visible(string(args))+"?")
	return agreed, nil
}

func (s *shownRun) silence(silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLine()
	s.silent, s.since = silent, time.Now()
}

// Recorded shows an event of the run.
func (s *shownRun) Recorded(e telemetry.Event) {
	if e.Source != telemetry.SourceAgent {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(e)
	if s.want.outputFormat == outputStream {
		_ = s.program.Line(e) // without a reader the run continues
	}
	if s.want.quiet || shownAtEnd(e) {
		return
	}
	text := telemetry.Line(e)
	if e.Type == telemetry.RunStarted {
		if begins, _ := e.Metadata["begins"].(string); begins != "" {
			s.endLine()
			fmt.Fprintln(s.program.Stderr, terminal.Visible(begins))
		}
		text = fmt.Sprintf("run %s: %v tools, decided by %v", e.RunID, e.Metadata["tools"], e.Metadata["decider"])
	}
	if text != "" {
		s.endLine()
		fmt.Fprintln(s.program.Stderr, terminal.Visible(text))
	}
}

// textEvent is a piece of a model's text in --output stream-json.
type textEvent struct {
	Type  string `json:"type"`
	RunID string `json:"run_id"`
	Step  int    `json:"step"`
	Text  string `json:"text"`
}

// Streams reports whether a model's text is shown.
func (s *shownRun) Streams() bool { return !s.want.quiet || s.want.outputFormat == outputStream }

// WroteStep shows a piece of a model's text for a step of a workflow.
func (s *shownRun) WroteStep(runID, _, text string) { s.Wrote(runID, 0, text) }

// Wrote shows a piece of a model's text.
func (s *shownRun) Wrote(runID string, step int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.want.outputFormat == outputStream {
		_ = s.program.Line(textEvent{"llm_text", runID, step, text})
	}
	if s.want.quiet || s.want.outputFormat == outputStream {
		return
	}
	if s.ticked {
		s.endLine()
	}
	for part := range strings.Lines(text) {
		line, ended := strings.CutSuffix(part, "\n")
		fmt.Fprint(s.program.Stderr, terminal.Content(line))
		if s.amid = !ended; ended {
			fmt.Fprintln(s.program.Stderr)
		}
	}
}

// Unsaved says that a step cannot be saved yet, and how to give up; nil: that it is.
func (s *shownRun) Unsaved(runID string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLine()
	if s.unsaved = err != nil; !s.unsaved {
		fmt.Fprintln(s.program.Stderr, "savant: the step is saved; the run goes on")
		return
	}
	fmt.Fprintf(s.program.Stderr, "savant: %s\n", terminal.Visible(err.Error()))
	fmt.Fprintf(s.program.Stderr, "savant: the step is in memory and will be saved when the database is back; to give up, press Ctrl-C, and continue later with: savant run --resume %s\n", runID)
}

// leave says how to go on with a run that ends while a step is not saved: its end may not
// be saved before the program has to end.
func (s *shownRun) leave(runID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsaved {
		s.endLine()
		fmt.Fprintf(s.program.Stderr, "savant: the last step was not saved; when the database is back, continue with: savant run --resume %s\n", runID)
	}
}

// endLine ends a line that a model has begun, and clears a temporary one. The caller
// holds the lock.
func (s *shownRun) endLine() {
	if s.ticked {
		fmt.Fprint(s.program.Stderr, terminal.ClearLine)
		s.ticked = false
	}
	if s.amid {
		fmt.Fprintln(s.program.Stderr)
		s.amid = false
	}
}

// logLines shows lines of the log among the steps of a run: each begins a line.
type logLines struct{ *shownRun }

// Write writes whole lines.
func (l logLines) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLine()
	return l.program.Stderr.Write(lines)
}

// end is called when the run has ended.
func (s *shownRun) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = true
	s.endLine()
}
