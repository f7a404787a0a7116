// Package ci is the engine ci.*: it runs the commands that .savant/ci.yaml
// names, and nothing else. No shell is started, what a caller may add to a
// command is bound by the file's patterns, a command gets a small environment
// of its own, and all that it started ends with it.
package ci

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"savant/engines"
	"savant/internal/trust"
)

// File is where the commands are named, relative to SAVANT_PATH.
const File = ".savant/ci.yaml"

// Name is the engine's name.
const Name = "ci"

// concurrency is how many commands run at once: two suites of one tree already
// compete for its files.
const concurrency = 2

// ReadYAML reads a file as JSON values and says where the value of a path
// ("commands.tests.args[0]") stands; zero where it does not know. Its errors carry
// diagnostics.
type ReadYAML func(file string, src []byte) (value any, at func(path string) (line, column int), err error)

// Options says where commands run and how their file is read.
type Options struct {
	// Path is SAVANT_PATH: commands run there or below.
	Path     string
	ReadYAML ReadYAML
	// Trust says which commands a person accepted. The others are not run.
	Trust *trust.Folder
	// Grace is how long a command has to end after it was asked to, before it
	// is killed; a second when zero.
	Grace time.Duration
}

// Engine returns the engine and its tools. Commands can write whatever their
// user can, so neither tool is read-only. Errors of both are ENGINE_OFFLINE
// (there is no ci.yaml, or the program is not installed), TRUST_REQUIRED, YAML_SCHEMA_VIOLATION
// with places in ci.yaml, INVALID_PARAMS (a name or an argument that the file
// does not allow) and TOOL_FAILED (cancelled, or not to be started). Tests that
// fail, and a command that takes too long, are a report.
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
		tool("ci.run", "Run a command", r.run,
			"Runs one of the commands that "+File+" names, with extra arguments where the file allows them, and reports "+
				"its exit code and the end of its output. Nothing else can be run."),
	}
}

func tool[In, Out any](name, title string, f func(context.Context, In) (Out, error), description string) engines.Tool {
	made := engines.Bind(name, description, f)
	made.Title = title
	made.Output = engines.SchemaOf[Out]()
	made.Destructive, made.OpenWorld = true, true // what a command does is not known here
	return made
}

type runner struct{ Options }

// status says whether there are commands to run.
func (r *runner) status(context.Context) engines.Status {
	commands, err := r.load()
	if err != nil {
		return engines.Status{State: engines.Offline, Reason: reason(err)}
	}
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if err := r.Trust.Require(commands[name].part); err != nil {
			refused = append(refused, reason(err))
		}
	}
	state := engines.Ready
	if len(refused) > 0 && len(refused) == len(commands) {
		state = engines.Offline
	}
	return engines.Status{State: state, Reason: strings.Join(refused, "; ")}
}

// testsInput has no arguments: ci.yaml decides which tests run.
type testsInput struct{}

// runInput names a command.
type runInput struct {
	Name string   `json:"name" doc:"a command of .savant/ci.yaml"`
	Args []string `json:"args,omitempty" doc:"added to it; each must match one of its patterns"`
}

// testsCommand is what ci.run_tests runs.
const testsCommand = "tests"

func (r *runner) runTests(ctx context.Context, _ testsInput) (*Report, error) {
	return r.run(ctx, runInput{Name: testsCommand})
}

func (r *runner) run(ctx context.Context, in runInput) (*Report, error) {
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
	return r.execute(ctx, chosen, in.Args)
}
