package ci

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/processgroup"
	"savant/internal/regular"
)

// Report is the result of a command, see schemas/TestReport.json.
type Report struct {
	// ExitCode is the command's exit code; 128 plus the signal's number if it was
	// killed, as in shells; ExitTimedOut after a timeout.
	ExitCode int `json:"exit_code"`
	// Outcome is the result in one word. An exit code of 0 is not enough for success:
	// possibly no test ran.
	Outcome Outcome `json:"outcome" enum:"passed,failed,no_tests,timed_out"`
	// TimedOut: the command was ended at its timeout.
	TimedOut bool `json:"timed_out"`
	// DurationMS is the duration in milliseconds.
	DurationMS int64 `json:"duration_ms"`
	// Passed, Failed and Skipped count the tests that the parser found, each parent of
	// subtests included. They are absent without a parser, and if no test was found,
	// since 0 failed would look like success; the note then says so.
	Passed  *int `json:"passed,omitempty"`
	Failed  *int `json:"failed,omitempty"`
	Skipped *int `json:"skipped,omitempty"`
	// FailedTests and SkippedTests are the first names of each.
	FailedTests  []string `json:"failed_tests,omitempty"`
	SkippedTests []string `json:"skipped_tests,omitempty"`
	// FailingLines are the first lines of the output that seem to say what failed, where no
	// parser found a test that did.
	FailingLines []string `json:"failing_lines,omitempty"`
	// Tail is the end of the combined output of both streams.
	Tail string `json:"tail"`
	// Truncated: output before the tail was dropped.
	Truncated bool `json:"truncated"`
	// Note is further information for the reader, for example that the report was not
	// written.
	Note string `json:"note,omitempty"`
	// Command is the command that was run.
	Command *Command `json:"command,omitempty"`
}

// Command identifies the command that was run.
type Command struct {
	// Name is its name in ci.yaml, Line the program with its arguments.
	Name string   `json:"name"`
	Line []string `json:"line"`
	// Digest is the digest of the command in ci.yaml, File that of the file.
	Digest string `json:"digest"`
	File   string `json:"file"`
}

// Commanded implements engines.Commanded.
func (r *Report) Commanded() (name, digest, file string) {
	return r.Command.Name, r.Command.Digest, r.Command.File
}

// ExitTimedOut is timeout(1)'s exit code for a timeout.
const ExitTimedOut = 124

// errTimeout is the cause of the context of a command that timed out.
var errTimeout = errors.New("the command took too long")

// execute runs a command to its end, and ends all its processes.
func (r *runner) execute(ctx context.Context, call engines.Call, chosen command, args []string) (*Report, error) {
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

	shown := newOutput(newReading(chosen.parser), redactorOf(secrets), call)
	line := slices.Concat(chosen.argv, args)
	process := exec.CommandContext(limited, line[0], line[1:]...)
	process.Dir, process.Env = dir.Name(), variables
	process.Stdout, process.Stderr = shown.stream(true), shown.stream(false)
	process.WaitDelay = r.Grace
	group := processgroup.New()
	defer group.End()
	process.Cancel = group.Ask // after WaitDelay it is killed
	started := time.Now()
	if err := group.Start(process); err != nil {
		return nil, notStarted(chosen, scriptOf(process), err)
	}
	timer := time.AfterFunc(chosen.timeout, func() { end(errTimeout) }) // the timeout starts with the command
	defer timer.Stop()
	ended := process.Wait()
	group.End()
	shown.close()
	if err := ctx.Err(); err != nil { // the caller cancelled; it is no timeout
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
	if report.ExitCode != 0 {
		report.Note = cmp.Or(scriptOf(process, process.Args...).problem(report.ExitCode == notFoundCode), report.Note)
	}
	return report, nil
}

// notFoundCode is the exit code of shells and of env(1) for a program that is not there.
const notFoundCode = 127

// script is the first line of a script, with its path; empty for another program. program: it
// is what the system starts.
type script struct {
	path, shebang string
	program       bool
}

// scriptOf returns the script that a process starts, or that a shell starts for it.
func scriptOf(process *exec.Cmd, words ...string) script {
	for i, each := range append([]string{process.Path}, strings.Fields(strings.Join(words, " "))...) {
		path := strings.Trim(each, "'\";&()")
		if line := firstLine(process.Dir, path); strings.HasPrefix(strings.TrimPrefix(line, byteOrderMark), "#!") {
			return script{filepath.Base(path), line, i == 0}
		}
	}
	return script{}
}

// byteOrderMark begins a text that a program of Windows wrote.
const byteOrderMark = "\ufeff"

// firstLine returns the first line of a regular file without its line feed, "" where the file
// cannot be read.
func firstLine(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	line, _ := bufio.NewReader(io.LimitReader(file, maxShebang)).ReadString('\n') // a program may have no line
	return strings.TrimSuffix(line, "\n")
}

// maxShebang bounds the first line of a script, in bytes.
const maxShebang = 4 << 10

// withoutInterpreter reports whether the interpreter of a script is not found.
func (s script) withoutInterpreter() bool {
	words := strings.Fields(strings.TrimPrefix(s.shebang, "#!"))
	if len(words) > 0 && filepath.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(word string) bool { return strings.HasPrefix(word, "-") })
	}
	if len(words) == 0 {
		return false
	}
	_, err := exec.LookPath(words[0])
	return err != nil
}

// problem says what is wrong with the first line of a script; "" if nothing is. absent: a program
// was not found.
func (s script) problem(absent bool) string {
	interpreter := plain(strings.TrimSpace(strings.TrimPrefix(s.shebang, "#!")))
	switch {
	case strings.HasPrefix(s.shebang, byteOrderMark):
		return fmt.Sprintf("%s begins with a byte order mark, so its first line names no interpreter: save the file as UTF-8 without the mark", s.path)
	case strings.HasSuffix(s.shebang, "\r"):
		return fmt.Sprintf("the first line of %s ends with CR LF, as on Windows, so the interpreter %q is looked for with a CR in its name: save the file with LF as its line end", s.path, interpreter)
	case s.program && absent && s.withoutInterpreter():
		return fmt.Sprintf("the interpreter of %s, %q in its first line, was not found", s.path, interpreter)
	}
	return ""
}

// folder opens the command's folder, which must be below SAVANT_PATH after resolving
// symbolic links.
func (r *runner) folder(of command) (*os.Root, error) {
	root, err := r.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := regular.OpenBelow(root, filepath.FromSlash(of.dir))
	if err != nil {
		return nil, fault.New(fault.YAMLSchemaViolation, "%s: commands.%s.dir: %q is not a folder inside SAVANT_PATH", File, of.name, of.dir)
	}
	return dir, nil
}

func notStarted(chosen command, program script, err error) error {
	name := chosen.argv[0]
	switch {
	case program.problem(errors.Is(err, os.ErrNotExist)) != "":
		return fault.New(fault.EngineOffline, "%s: commands.%s.command: %s", File, chosen.name, program.problem(true))
	case errors.Is(err, syscall.ENOEXEC):
		return fault.New(fault.EngineOffline, "%s: commands.%s.command: %s is no program of this system; a script needs a first line such as #!/bin/sh", File, chosen.name, name)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fault.New(fault.EngineOffline, "%s: commands.%s.command: %s is not installed, or not on PATH", File, chosen.name, name)
	case errors.Is(err, os.ErrPermission):
		return fault.New(fault.EngineOffline, "%s: commands.%s.command: %s may not be executed", File, chosen.name, name)
	}
	return fault.New(fault.ToolFailed, "%s could not be started: %w", name, err)
}

// exitCode returns the exit code of the process. A child process that keeps the output
// open is not an error.
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
