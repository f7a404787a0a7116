// Package ci is the engine ci.*: it runs only the commands in .savant/ci.yaml. It
// starts no shell, allows only arguments that match the file's patterns, gives a
// command a small environment, and ends all processes of a command with it.
package ci

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/trust"
)

// File is the file of commands, relative to SAVANT_PATH.
const File = ".savant/ci.yaml"

// Name is the engine's name.
const Name = "ci"

// concurrency is the maximum number of concurrent commands: two test suites already
// compete for the files of a working tree.
const concurrency = 2

// ReadYAML decodes a file as JSON values, and says where they are. Its errors carry
// diagnostics.
type ReadYAML func(file string, src []byte) (any, fault.Places, error)

// Options say where commands run and how their file is read.
type Options struct {
	// Path is SAVANT_PATH: commands run there or below.
	Path     string
	ReadYAML ReadYAML
	// Trust says which commands a person accepted. Others are refused.
	Trust *trust.Folder
	// Grace is the time between asking a command to end and killing it; 0 means a
	// second.
	Grace time.Duration
}

// Engine returns the engine and its tools. Commands can write whatever their user can,
// so neither tool is read-only. Errors of both are ENGINE_OFFLINE (no ci.yaml, or the
// program is not installed), TRUST_REQUIRED, YAML_SCHEMA_VIOLATION with positions in
// ci.yaml, INVALID_PARAMS (a name or an argument that the file does not allow) and
// TOOL_FAILED (cancelled, or the start failed). Failed tests and a timeout are reports,
// not errors.
func Engine(options Options) (engines.Engine, []engines.Tool) {
	if options.Grace <= 0 {
		options.Grace = time.Second
	}
	r := &runner{options}
	engine := engines.Engine{Name: Name, Description: "runs the tests and the other commands that " + File + " names",
		Concurrency: concurrency, Status: r.status}
	return engine, []engines.Tool{
		tool("ci.run_tests", "Run the tests", r.runTests,
			"Runs the project's tests: the command `tests` of "+File+". Failing tests are a report, not an error: "+
				"outcome, exit_code, counts and names where the output can be parsed, and the end of the output. Only the outcome "+
				"passed is a success."),
		tool(RunTool, "Run a command", r.run,
			"Runs one of the commands that "+File+" names, with extra arguments where the file allows them, and reports "+
				"its exit code and the end of its output. Nothing else can be run."),
	}
}

func tool[In, Out any](name, title string, f func(context.Context, engines.Call, In) (Out, error), description string) engines.Tool {
	made := engines.BindCall(name, description, f)
	made.Title, made.Exact = title, true
	made.Destructive, made.OpenWorld = true, true // the effects of a command are unknown
	return made
}

type runner struct{ Options }

// status reports whether there are commands, and programs for them.
func (r *runner) status(context.Context) engines.Status {
	commands, err := r.load()
	if err != nil {
		return engines.Status{State: engines.Offline, Reason: reason(err)}
	}
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		err := r.Trust.Require(commands[name].part)
		if err == nil {
			if missing := exec.Command(commands[name].argv[0]).Err; missing != nil {
				err = notStarted(commands[name], script{}, missing)
			}
		}
		if err != nil {
			refused = append(refused, reason(err))
		}
	}
	state := engines.Ready
	if len(refused) > 0 && len(refused) == len(commands) {
		state = engines.Offline
	}
	return engines.Status{State: state, Reason: strings.Join(refused, "; ")}
}

// testsInput has no fields: ci.yaml decides which tests run.
type testsInput struct{}

// runInput selects a command.
type runInput struct {
	Name string   `json:"name" doc:"a command of .savant/ci.yaml" example:"lint"`
	Args []string `json:"args,omitempty" doc:"added to it; each must match one of its patterns"`
}

// RunTool runs the command that its argument name says.
const RunTool = "ci.run"

// testsCommand is the command of ci.run_tests.
const testsCommand = "tests"

func (r *runner) runTests(ctx context.Context, call engines.Call, _ testsInput) (*Report, error) {
	return r.run(ctx, call, runInput{Name: testsCommand})
}

func (r *runner) run(ctx context.Context, call engines.Call, in runInput) (*Report, error) {
	commands, err := r.load()
	if err != nil {
		return nil, err
	}
	chosen, err := choose(commands, in.Name)
	if err != nil {
		return nil, err
	}
	if err := r.Trust.Require(chosen.part); err != nil {
		return nil, err
	}
	if err := chosen.allows(in.Args); err != nil {
		return nil, err
	}
	return r.execute(ctx, call, chosen, in.Args)
}
