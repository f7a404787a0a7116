package commands

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
)

// The exit codes of the program.
const (
	exitOK            = 0
	exitFailed        = 1 // all other errors
	exitUsage         = 2 // the command line is not one
	exitInvalid       = 3 // a workflow, a parameter or a result is not valid
	exitConfiguration = 4 // a setting, or the place the program runs in
	exitUnknown       = 5 // no such workflow, run, step, checkpoint or prompt
	exitConflict      = 6 // somebody else was first
	exitMaxSteps      = 7 // a run of the agent reached its limit of steps
	exitPending       = 8 // a run waits for a person, a model or another client

	exitInterrupted = 130 // by a signal; the run can be continued
)

// exitCodes maps what a fault says to an exit code; others are exitFailed.
var exitCodes = map[fault.Code]int{
	fault.InvalidParams:       exitInvalid,
	fault.YAMLSchemaViolation: exitInvalid,
	fault.UnresolvedVar:       exitInvalid,
	fault.UnknownTool:         exitInvalid,
	fault.CyclicDependency:    exitInvalid,
	fault.AmbiguousName:       exitInvalid,
	fault.DuplicateCapture:    exitInvalid,
	fault.IDCollision:         exitInvalid,
	fault.ExpressionError:     exitInvalid,
	fault.TemplateRenderError: exitInvalid,
	fault.ForeachNotArray:     exitInvalid,
	fault.LimitExceeded:       exitInvalid,
	fault.SchemaNotFound:      exitInvalid,
	fault.ValidationFailed:    exitInvalid,
	fault.NotWitnessed:        exitInvalid,
	fault.StateCorrupt:        exitInvalid,
	fault.UnknownWorkflow:     exitUnknown,
	fault.UnknownRun:          exitUnknown,
	fault.UnknownStep:         exitUnknown,
	fault.CheckpointNotFound:  exitUnknown,
	fault.PromptNotFound:      exitUnknown,
	fault.StateConflict:       exitConflict,

	fault.ReasoningUnavailable: exitConfiguration,
}

// usageError is a command line that is not one.
type usageError string

func (u usageError) Error() string { return string(u) }

// statusError ends the program with a code when everything was said already.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// exitCode says how the program ends after an error.
func exitCode(err error) int {
	var status statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, new(usageError)):
		return exitUsage
	case errors.As(err, new(*app.ConfigurationError)):
		return exitConfiguration
	}
	if code, ok := exitCodes[fault.From(err).Code]; ok {
		return code
	}
	return exitFailed
}

// report tells what went wrong with a command and returns the exit code: one
// line, then one for each diagnostic; with --json the fault as JSON on stdout.
func (p *program) report(err error) int {
	code := exitCode(err)
	var usage usageError
	switch {
	case err == nil || errors.As(err, new(statusError)):
		return code
	case p.stdout.Failed() != nil && errors.Is(err, p.stdout.Failed()):
		return exitOK // of the command; ended reports what was not written
	case errors.As(err, &usage):
		p.reportUsage(string(usage))
		return code
	case p.json:
		p.printFault(fault.From(err))
		return code
	}
	coded := explained(err)
	fmt.Fprintf(p.stderr, "savant: %s: %s\n", coded.Code, terminal.Visible(p.forPeople(coded)))
	terminal.Diagnostics(p.stderr, coded)
	return code
}

// reportUsage tells what is wrong with the command line: on stderr in any case,
// since a flag may be wrong that is before --json.
func (p *program) reportUsage(wrong string) {
	command := cmp.Or(p.command, "savant")
	if p.json {
		p.printFault(fault.New(fault.InvalidParams, "%s; %s --help shows the usage", wrong, command))
	}
	fmt.Fprintf(p.stderr, "savant: %s\nRun '%s --help' for usage.\n", wrong, command)
}

// printFault prints an error for a program.
func (p *program) printFault(coded *fault.Error) {
	write := p.print
	if p.lines {
		write = p.line
	}
	if err := write(coded.Hinted(p.hint(coded))); err != nil {
		fmt.Fprintf(p.stderr, "savant: %v\n", err)
	}
}

// explained is fault.From for the person at the machine, who may see the cause
// of an error that has no code.
func explained(err error) *fault.Error {
	coded := fault.From(err)
	if coded.Code == fault.Internal && !errors.As(err, new(*fault.Error)) {
		return fault.New(fault.Internal, "%w", err)
	}
	return coded
}

// commands are what people type where clients call a tool.
var commands = map[string]string{
	"think.state.list":     "savant state list",
	"think.workflows.list": "savant workflows list",
	"think.reset":          "savant call think.reset",
	"agent.list":           "savant runs list",
}

// forPeople is what an error says, for somebody at a command line: with the
// commands there are, and what to do.
func (p *program) forPeople(said *fault.Error) string {
	hinted := *said.Hinted(p.hint(said))
	if command := commands[hinted.Hint.Call]; command != "" {
		hinted.Hint.Call = command
	}
	return hinted.Message()
}

// errNotPublished is the cause of an error about a tool that this server does
// not publish.
var errNotPublished = errors.New("which is not among those of")

// hint says what to do about an error that has no hint where that is not a
// matter of the one call; the zero Hint for others.
func (p *program) hint(said *fault.Error) fault.Hint {
	switch {
	case strings.Contains(said.Details, "path escapes from parent"): // what os.Root says
		return fault.Hint{Text: fmt.Sprintf("what Savant keeps has to be inside SAVANT_PATH, which is %q: no link may lead out of it", p.settings.Path)}
	case (said.Code == fault.StateNotSaved || said.Code == fault.Internal) && (errors.Is(said, fs.ErrPermission) || errors.Is(said, syscall.EROFS)):
		return fault.Hint{Text: fmt.Sprintf("SAVANT_PATH is %q; --path names another folder", p.settings.Path)}
	case said.Code == fault.UnknownRun:
		return fault.Hint{Call: "savant state list", Text: "shows the runs there are"}
	case said.Code == fault.UnknownTool && len(said.Diagnostics) == 0 && !errors.Is(said, errNotPublished):
		return fault.Hint{Call: "savant tools", Text: "lists those there are"}
	}
	for _, sign := range []string{".savant/state/", ".savant/artifacts/", "does not follow from the records before it"} {
		if strings.Contains(said.Details, sign) {
			return app.OnDamage(said)
		}
	}
	return fault.Hint{}
}
