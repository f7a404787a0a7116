package ci

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/processgroup"
)

// Report is how a command ended. It fits schemas/TestReport.json.
type Report struct {
	// ExitCode is the command's; 128 and the signal's number when it was
	// killed, as shells say it; ExitTimedOut when it took too long.
	ExitCode int `json:"exit_code"`
	// Outcome is the result in one word. An exit code of 0 alone is not enough: it may
	// be that no test ran.
	Outcome Outcome `json:"outcome" enum:"passed,failed,no_tests,timed_out"`
	// TimedOut says that the command was ended at its timeout.
	TimedOut bool `json:"timed_out"`
	// DurationMS is how long it ran, in milliseconds.
	DurationMS int64 `json:"duration_ms"`
	// Passed, Failed and Skipped count the tests that the parser found; a test with
	// subtests counts as one more. They are absent if no parser is set. They are also
	// absent if no test was found, since 0 failed would look like success; the note
	// says so.
	Passed  *int `json:"passed,omitempty"`
	Failed  *int `json:"failed,omitempty"`
	Skipped *int `json:"skipped,omitempty"`
	// FailedTests and SkippedTests are the first names of each.
	FailedTests  []string `json:"failed_tests,omitempty"`
	SkippedTests []string `json:"skipped_tests,omitempty"`
	// Tail is the end of what the command wrote, both streams as they came.
	Tail string `json:"tail"`
	// Truncated says that there was more before the tail.
	Truncated bool `json:"truncated"`
	// Note says what else the reader should know, for example that the report was
	// not written.
	Note string `json:"note,omitempty"`
	// Command is what was carried out.
	Command *Command `json:"command,omitempty"`
}

// Command names the command that was run, so that a report shows what it is about.
type Command struct {
	// Name is that in ci.yaml, and Line the program with its arguments.
	Name string   `json:"name"`
	Line []string `json:"line"`
	// Digest is the digest of the command in ci.yaml, File that of the whole file.
	Digest string `json:"digest"`
	File   string `json:"file"`
}

// Commanded implements engines.Commanded.
func (r *Report) Commanded() (name, digest, file string) {
	return r.Command.Name, r.Command.Digest, r.Command.File
}

// ExitTimedOut is the exit code of timeout(1) for a command over its time.
const ExitTimedOut = 124

// errTimeout is the cause of a context whose command took too long.
var errTimeout = errors.New("the command's time is over")

// execute runs a command to its end. What it started ends with it.
func (r *runner) execute(ctx context.Context, chosen command, args []string) (*Report, error) {
	dir, err := r.folder(chosen)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	variables, secrets, err := environment(chosen)
	if err != nil {
		return nil, err
	}
	limited, end := context.WithCancelCause(ctx)
	defer end(nil)

	shown := newOutput(newReading(chosen.parser), hiding(secrets), engines.CallerFrom(ctx).Progress)
	line := slices.Concat(chosen.argv, args)
	process := exec.CommandContext(limited, line[0], line[1:]...)
	process.Dir, process.Env = dir.Name(), variables
	process.Stdout, process.Stderr = shown.stream(true), shown.stream(false)
	process.WaitDelay = r.Grace
	group := processgroup.New()
	defer group.End()
	process.Cancel = group.Ask // and WaitDelay later the command is killed
	started := time.Now()
	if err := group.Start(process); err != nil {
		return nil, notStarted(chosen, err)
	}
	timer := time.AfterFunc(chosen.timeout, func() { end(errTimeout) }) // its time begins with it
	defer timer.Stop()
	ended := process.Wait()
	group.End()
	shown.close()
	if err := ctx.Err(); err != nil { // the caller went, not the time
		return nil, fault.New(fault.ToolFailed, "%s was stopped: %w", chosen.name, context.Cause(ctx))
	}
	report := &Report{DurationMS: time.Since(started).Milliseconds(), TimedOut: errors.Is(context.Cause(limited), errTimeout) && ended != nil}
	if report.ExitCode, err = exitCode(process, ended, report.TimedOut); err != nil {
		return nil, err
	}
	for i := range line {
		line[i] = shown.hidden.Text(line[i])
	}
	report.Command = &Command{Name: chosen.name, Line: line, Digest: chosen.digest, File: chosen.file}
	report.Tail, report.Truncated = shown.tail.text()
	shown.conclude(report, dir, chosen.report, started)
	return report, nil
}

// folder opens the command's folder, which is below SAVANT_PATH after symbolic
// links too.
func (r *runner) folder(of command) (*os.Root, error) {
	root, err := r.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.OpenRoot(filepath.FromSlash(of.dir))
	if err != nil {
		return nil, fault.New(fault.YAMLSchemaViolation, "%s: commands.%s.dir: %q is no folder below SAVANT_PATH", File, of.name, of.dir)
	}
	return dir, nil
}

func notStarted(chosen command, err error) error {
	program := chosen.argv[0]
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fault.New(fault.EngineOffline, "%s: commands.%s.command: %s is not installed, or not on PATH", File, chosen.name, program)
	case errors.Is(err, os.ErrPermission):
		return fault.New(fault.EngineOffline, "%s: commands.%s.command: %s may not be executed", File, chosen.name, program)
	}
	return fault.New(fault.ToolFailed, "%s could not be started: %w", program, err)
}

// exitCode returns how the process ended. It is no error if a child of it kept the
// output open.
func exitCode(process *exec.Cmd, ended error, timedOut bool) (int, error) {
	var exit *exec.ExitError
	switch {
	case timedOut:
		return ExitTimedOut, nil
	case ended == nil, errors.Is(ended, exec.ErrWaitDelay), errors.As(ended, &exit):
		return codeOf(process.ProcessState), nil
	}
	return 0, fault.New(fault.ToolFailed, "reading the command's output failed: %w", ended)
}
