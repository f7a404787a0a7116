package agent

import (
	"context"
	"encoding/json"

	"savant/engines"
	"savant/reasoning"
)

// Decider says what a run does next; a reasoning.Client asks a model. It is safe for
// concurrent use.
type Decider interface {
	// Decide answers one question with one intent. The errors are those of
	// reasoning.Client.Decide.
	Decide(ctx context.Context, request reasoning.Request, observer reasoning.Observer) (reasoning.Intent, error)
	// Name describes the decider for people, without a secret.
	Name() string
	// Identify is Name where it has to be found out first which models there are.
	Identify(ctx context.Context) string
}

// Project describes where runs work. It is asked when a run starts; its errors are
// warnings.
type Project interface {
	// AwaitTools waits for tools that are not listed yet.
	AwaitTools(ctx context.Context)
	Prompts(ctx context.Context) (Prompts, error)
	// Repo describes the repository; nil without one.
	Repo(ctx context.Context) (*reasoning.Repo, error)
	// Workflows are the names of the workflows that a goal can select.
	Workflows(ctx context.Context) ([]string, error)
}

// unknownProject is a Project of which nothing is known.
type unknownProject struct{}

func (unknownProject) AwaitTools(context.Context)                    {}
func (unknownProject) Prompts(context.Context) (Prompts, error)      { return Prompts{}, nil }
func (unknownProject) Repo(context.Context) (*reasoning.Repo, error) { return nil, nil }
func (unknownProject) Workflows(context.Context) ([]string, error)   { return nil, nil }

// Display shows runs as they go on. Its methods are called concurrently.
type Display interface {
	// Wrote receives the redacted output of models as it is streamed. Models stream only
	// if Streams reports true.
	Wrote(runID string, step int, text string)
	Streams() bool
	// Progress returns the function to which a call of a tool reports its progress; nil
	// shows none.
	Progress(tool string) func(done, total float64, message string)
	// Unsaved is told why a step cannot be saved yet and is tried again, and nil once it
	// was saved.
	Unsaved(runID string, err error)
}

// Prices are what models cost.
type Prices interface {
	// Cost returns the cost of a model's tokens, if it is known.
	Cost(model string, promptTokens, outputTokens int) (cost float64, known bool)
}

// Runs knows the runs of workflows. *guide.Runs implements it.
type Runs interface {
	// Ruling returns the runs whose rules hold for a call.
	Ruling(ctx context.Context, call engines.Call) ([]engines.Run, error)
}

// Dispatcher has other processes drive runs; *fleet.Fleet implements it.
type Dispatcher interface {
	Dispatch(ctx context.Context, order Order) error
}

// Toolbox holds the tools that an agent can call; engines.Registry implements it. It is
// safe for concurrent use.
type Toolbox interface {
	// Tools returns all tools, sorted by name. The caller may change the list.
	Tools() []engines.Tool
	// Engines returns the names of all engines, also of those whose tools are not
	// known yet. The caller may change the list.
	Engines() []string
	// Invoke asks the guards of the call (engines.Call.Guarded), and calls a tool by its
	// name in either spelling. The error is a *fault.Error: UNKNOWN_TOOL, INVALID_PARAMS,
	// TOOL_DENIED, or that of the tool.
	Invoke(ctx context.Context, call engines.Call, name string, args json.RawMessage) (engines.Result, error)
}

// Seeker is a Toolbox that can discover tools it does not list yet.
type Seeker interface {
	// Seek returns the tool of a name in either spelling. It may start a mounted server
	// and wait for its list. The errors are UNKNOWN_TOOL, and ENGINE_OFFLINE if the engine
	// cannot be reached.
	Seek(ctx context.Context, name string) (engines.Tool, error)
}
