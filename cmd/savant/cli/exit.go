package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/think/maintenance"
)

// The exit codes of the program.
const (
	ExitOK            = 0
	ExitFailed        = 1 // all other errors
	ExitUsage         = 2 // the command line is wrong
	ExitInvalid       = 3 // a workflow, a parameter or a result is not valid
	ExitConfiguration = 4 // a setting, or the place the program runs in
	ExitUnknown       = 5 // no such workflow, run, step, checkpoint or prompt
	ExitConflict      = 6 // somebody else was first
	ExitMaxSteps      = 7 // a run of the agent reached its limit of steps
	ExitPending       = 8 // a run waits for a person, a model or another client

	ExitInterrupted = 130 // the run can be continued; of a signal but Ctrl-C, 128 and its number
)

// exitCodes maps fault codes to exit codes; all others are ExitFailed.
var exitCodes = map[fault.Code]int{
	fault.InvalidParams:       ExitInvalid,
	fault.YAMLSchemaViolation: ExitInvalid,
	fault.UnresolvedVar:       ExitInvalid,
	fault.UnknownTool:         ExitInvalid,
	fault.CyclicDependency:    ExitInvalid,
	fault.AmbiguousName:       ExitInvalid,
	fault.DuplicateCapture:    ExitInvalid,
	fault.IDCollision:         ExitInvalid,
	fault.ExpressionError:     ExitInvalid,
	fault.TemplateRenderError: ExitInvalid,
	fault.ForeachNotArray:     ExitInvalid,
	fault.LimitExceeded:       ExitInvalid,
	fault.SchemaNotFound:      ExitInvalid,
	fault.ValidationFailed:    ExitInvalid,
	fault.NotWitnessed:        ExitInvalid,
	fault.StateCorrupt:        ExitInvalid,
	fault.UnknownWorkflow:     ExitUnknown,
	fault.RunCancelled:        ExitConflict,
	fault.UnknownRun:          ExitUnknown,
	fault.UnknownStep:         ExitUnknown,
	fault.CheckpointNotFound:  ExitUnknown,
	fault.PromptNotFound:      ExitUnknown,
	fault.StateConflict:       ExitConflict,

	fault.ReasoningUnavailable: ExitConfiguration,
}

// UsageError is an error in the command line.
type UsageError string

func (u UsageError) Error() string { return string(u) }

// StatusError ends the program with an exit code and without a further message.
type StatusError int

func (s StatusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	var status StatusError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, new(UsageError)):
		return ExitUsage
	case errors.As(err, new(*app.ConfigurationError)):
		return ExitConfiguration
	}
	if code, ok := exitCodes[fault.From(err).Code]; ok {
		return code
	}
	return ExitFailed
}

// Report prints a command's error and returns the exit code: one line, and one per
// diagnostic; with --json the fault as JSON on stdout.
func (p *Program) Report(err error) int {
	code := ExitCode(err)
	var usage UsageError
	switch {
	case err == nil || errors.As(err, new(StatusError)):
		return code
	case p.Stdout.Failed() != nil && errors.Is(err, p.Stdout.Failed()):
		return ExitOK // the command's own; ended checks that the output was written
	case errors.As(err, &usage):
		p.reportUsage(string(usage))
		return code
	case p.JSON:
		p.printFault(p.asTyped(fault.From(err)))
		return code
	}
	coded := p.asTyped(explained(err))
	fmt.Fprintf(p.Stderr, "savant: %s: %s\n", coded.Code, terminal.Visible(p.forPeople(coded)))
	terminal.Diagnostics(p.Stderr, coded)
	return code
}

// reportUsage prints what is wrong with the command line. It always uses stderr, since
// the wrong flag may precede --json.
func (p *Program) reportUsage(wrong string) {
	command := cmp.Or(p.Command, "savant")
	if p.JSON {
		p.printFault(fault.New(fault.InvalidParams, "%s; %s --help shows the usage", wrong, command))
	}
	fmt.Fprintf(p.Stderr, "savant: %s\nRun '%s --help' for usage.\n", terminal.Visible(wrong), command)
}

// printFault prints an error as JSON.
func (p *Program) printFault(coded *fault.Error) {
	write := p.Print
	if p.Lines {
		write = p.Line
	}
	if err := write(coded.Hinted(p.hint(coded))); err != nil {
		fmt.Fprintf(p.Stderr, "savant: %s\n", terminal.Visible(err.Error()))
	}
}

// explained is fault.From for a local user, who may also see the cause of an error
// without a code.
func explained(err error) *fault.Error {
	coded := fault.From(err)
	if coded.Code == fault.Internal && !errors.As(err, new(*fault.Error)) {
		return fault.New(fault.Internal, "%w", err)
	}
	return coded
}

// commands maps tools to the commands for people.
var commands = map[string]string{
	"think.state.list":     "savant runs",
	"think.workflows.list": "savant workflows list",
	"think.state.get":      "savant state get RUN",
	"agent.list":           "savant runs",
}

// forPeople formats an error for a person at a command line: it names commands instead
// of tools, and appends the hint.
func (p *Program) forPeople(failure *fault.Error) string {
	hinted := *failure.Hinted(p.hint(failure))
	call := hinted.Hint.Call
	if command := commands[call]; command != "" {
		hinted.Hint.Call = command
	} else if call != "" && !strings.HasPrefix(call, "savant ") {
		hinted.Hint.Call = "savant call " + call
		if arguments, rest, given := strings.Cut(hinted.Hint.Text, "} "); given && strings.HasPrefix(arguments, "{") {
			hinted.Hint.Text = "--args '" + arguments + "}' " + rest
		}
	}
	return hinted.Message()
}

// ErrNotPublished is the cause of an error about a tool that this server does not
// publish.
var ErrNotPublished = errors.New("which is not among those of")

// path names SAVANT_PATH within a sentence, if the settings could be read.
func (p *Program) path() string {
	if p.Settings.Path == "" {
		return ""
	}
	return fmt.Sprintf(", which is %q", p.Settings.Path)
}

// hint returns general advice about an error without its own hint, or the zero Hint.
func (p *Program) hint(failure *fault.Error) fault.Hint {
	switch {
	case strings.Contains(failure.Details, "path escapes from parent"): // the text of os.Root
		return fault.Hint{Text: fmt.Sprintf("Savant keeps its files inside SAVANT_PATH%s: no link may lead out of it", p.path())}
	case (failure.Code == fault.StateNotSaved || failure.Code == fault.Internal) && (errors.Is(failure, fs.ErrPermission) || errors.Is(failure, syscall.EROFS)):
		return fault.Hint{Text: fmt.Sprintf("SAVANT_PATH is %q; --path names another folder", p.Settings.Path)}
	case failure.Code == fault.UnknownRun:
		return fault.Hint{Call: "savant runs", Text: "lists the runs"}
	case failure.Code == fault.UnknownTool && len(failure.Diagnostics) == 0 && !errors.Is(failure, ErrNotPublished):
		return fault.Hint{Call: "savant tools", Text: "lists the tools"}
	}
	for _, sign := range []string{".savant/state/", ".savant/artifacts/", "does not follow from the records before it"} {
		if strings.Contains(failure.Details, sign) {
			return maintenance.OnDamage(failure)
		}
	}
	return fault.Hint{}
}
