package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/telemetry"
)

// Waiting times of agent.run and agent.status in milliseconds. Some clients time out
// after 60 s.
const (
	defaultWait = 20_000
	maxWait     = 50_000
)

// RunInput is the input of agent.run.
type RunInput struct {
	Goal        string         `json:"goal,omitempty" doc:"What is wanted, in your words." example:"Where is the retry limit set?"`
	RunID       string         `json:"run_id,omitempty" doc:"A run to go on with: with its goal, or with a new one."`
	MaxSteps    int            `json:"max_steps,omitempty" min:"1" max:"1000" doc:"Decisions at most; 25 by default."`
	Workflow    string         `json:"workflow,omitempty" doc:"A workflow to run first."`
	ForceTool   string         `json:"force_tool,omitempty" doc:"A tool to call first."`
	ForceArgs   map[string]any `json:"force_args,omitempty" doc:"Its arguments."`
	ForceFinish bool           `json:"force_finish,omitempty" doc:"End after the forced tool."`
	DryRun      bool           `json:"dry_run,omitempty" doc:"Ask nobody, change nothing."`
	ReadOnly    bool           `json:"read_only,omitempty" doc:"Only tools that change nothing."`
	Allow       []string       `json:"allow,omitempty" doc:"Patterns of tools that may be called: git.*"`
	Deny        []string       `json:"deny,omitempty" doc:"Patterns of tools that may not."`
	Labels      []string       `json:"labels,omitempty" doc:"What the worker must have, with runs in a database: folder=NAME"`
	WaitMS      *int           `json:"wait_ms,omitempty" min:"0" max:"50000" doc:"How long to wait for the end; 20000 by default."`
}

// StatusInput is the input of agent.status.
type StatusInput struct {
	RunID  string `json:"run_id" example:"01k2"`
	WaitMS *int   `json:"wait_ms,omitempty" min:"0" max:"50000" doc:"How long to wait for the end; 0 by default."`
}

// CancelInput is the input of agent.cancel.
type CancelInput struct {
	RunID string `json:"run_id" example:"01k2"`
}

// ListInput is the input of agent.list.
type ListInput struct {
	Limit int `json:"limit,omitempty" min:"1" max:"500" doc:"50 by default."`
}

// ListOutput is the output of agent.list.
type ListOutput struct {
	Runs []Report `json:"runs"`
	// More counts the runs beyond the list.
	More int `json:"more,omitempty"`
}

// Tools returns agent.run, agent.status, agent.cancel and agent.list.
func (r *Runtime) Tools() []engines.Tool {
	run := engines.BindCall("agent.run", "Gives a goal to the agent, which works on it step by step with its own tools. Answers when it is done, "+
		"or with status running once wait_ms is over: then ask agent.status.", r.runTool)
	run.Title, run.Destructive, run.OpenWorld = "Run the agent", true, true
	status := engines.BindCall("agent.status", "Says how a run of the agent stands, with its steps so far; waits up to wait_ms for its end.", r.statusTool)
	status.Title, status.ReadOnly, status.Idempotent = "Status of a run", true, true
	cancel := engines.BindCall("agent.cancel", "Ends a run of the agent; what it did is kept.", r.cancelTool)
	cancel.Title, cancel.Idempotent = "Cancel a run", true
	list := engines.Bind("agent.list", "Lists the runs of the agent, the last changed first.", r.listTool)
	list.Title, list.ReadOnly, list.Idempotent = "List runs", true, true
	return []engines.Tool{run, status, cancel, list}
}

func (r *Runtime) runTool(ctx context.Context, call engines.Call, in RunInput) (Report, error) {
	if r.options.Dispatcher != nil {
		return r.dispatched(ctx, call, in)
	}
	if len(in.Labels) > 0 {
		return Report{}, invalid("labels", "this process carries out the runs of this folder; workers take the runs of a database: SAVANT_STORE=mongo")
	}
	run, err := r.startOrResume(ctx, call, in)
	if err != nil {
		return Report{}, err
	}
	call.Task.Begin(run.ID())
	report := wait(ctx, call, run, in.WaitMS, usualWait(call))
	return report, r.cancelledWith(ctx, report)
}

// usualWait is how long agent.run waits, in milliseconds, if it is not told: as a task to
// the end.
func usualWait(call engines.Call) int {
	if call.Task != nil {
		return 24 * 60 * 60 * 1000
	}
	return defaultWait
}

// cancelledWith cancels a run whose task the client cancelled. Who only stops waiting for a
// run does not end it.
func (r *Runtime) cancelledWith(ctx context.Context, report Report) error {
	if !report.open() || !errors.Is(context.Cause(ctx), engines.ErrTaskCancelled) {
		return nil
	}
	if err := r.Cancel(report.RunID); err != nil {
		return err
	}
	return fault.New(fault.EngineOffline, "run %s was cancelled with its task", report.RunID)
}

func (r *Runtime) startOrResume(ctx context.Context, call engines.Call, in RunInput) (*Run, error) {
	if in.RunID == "" {
		options, err := r.ordered(ctx, call, in)
		if err != nil {
			return nil, err
		}
		options.asking = newAsking(ctx, call)
		return r.Start(options)
	}
	if err := r.mayGoOn(in); err != nil {
		return nil, err
	}
	order, err := r.order(ctx, call, in)
	if err != nil {
		return nil, err
	}
	return r.resume(order, newAsking(ctx, call))
}

// order is that of a run to go on with.
func (r *Runtime) order(ctx context.Context, call engines.Call, in RunInput) (Order, error) {
	runs, err := r.ruling(ctx, call)
	return Order{RunID: in.RunID, Goal: in.Goal, MaxSteps: in.MaxSteps, Within: runs, Who: telemetry.WhoIs(call.Name, call.Client), orderers: call.Ordering()}, err
}

// ruling returns the runs whose rules hold for who orders a run.
func (r *Runtime) ruling(ctx context.Context, call engines.Call) ([]engines.Run, error) {
	if r.options.Runs == nil {
		return nil, nil
	}
	return r.options.Runs.Ruling(ctx, call)
}

// ordered are the options of a new run.
func (r *Runtime) ordered(ctx context.Context, call engines.Call, in RunInput) (RunOptions, error) {
	runs, err := r.ruling(ctx, call)
	if err != nil {
		return RunOptions{}, err
	}
	arguments, err := in.forceArgs()
	within := telemetry.TraceFrom(ctx)
	return RunOptions{Goal: in.Goal, MaxSteps: in.MaxSteps, Workflow: in.Workflow, ForceTool: in.ForceTool, ForceArgs: arguments,
		ForceFinish: in.ForceFinish, DryRun: in.DryRun, ReadOnly: in.ReadOnly, Allow: in.Allow, Deny: in.Deny, Needs: in.Labels, Within: runs,
		TraceParent: within.Parent, TraceState: within.State, Who: telemetry.WhoIs(call.Name, call.Client), orderers: call.Ordering()}, err
}

// mayGoOn refuses arguments that a resumed run does not take.
func (r *Runtime) mayGoOn(in RunInput) error {
	if _, err := r.Report(in.RunID); err != nil {
		return err
	}
	if name := in.ofNewRun(); name != "" {
		return invalid(name, fmt.Sprintf("run %s got it when it started; leave it out, or leave out run_id for a new run", in.RunID))
	}
	return nil
}

// ofNewRun returns the name of a given argument that only applies to new runs, or "".
func (in RunInput) ofNewRun() string {
	given := map[string]bool{"workflow": in.Workflow != "", "force_tool": in.ForceTool != "", "force_args": len(in.ForceArgs) > 0,
		"force_finish": in.ForceFinish, "dry_run": in.DryRun, "read_only": in.ReadOnly, "allow": len(in.Allow) > 0, "labels": len(in.Labels) > 0, "deny": len(in.Deny) > 0}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name] {
			return name
		}
	}
	return ""
}

// forceArgs are the arguments of the forced tool, or nil.
func (in RunInput) forceArgs() (json.RawMessage, error) {
	switch {
	case in.ForceArgs == nil:
		return nil, nil
	case in.ForceTool == "" && len(in.ForceArgs) > 0:
		return nil, invalid("force_args", "they belong to force_tool, which is missing")
	}
	encoded, err := jsonvalue.Encode(in.ForceArgs)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "force_args: %w", err)
	}
	return encoded, nil
}

// patience returns the waiting time, given or usual.
func patience(given *int, usual int) time.Duration {
	milliseconds := usual
	if given != nil {
		milliseconds = min(*given, maxWait)
	}
	return time.Duration(milliseconds) * time.Millisecond
}

// wait returns the report when the run or the waiting time ends. Meanwhile the client
// gets each step as progress, and questions about destructive calls.
func wait(ctx context.Context, call engines.Call, run *Run, given *int, usual int) Report {
	bounded, cancel := context.WithTimeout(ctx, patience(given, usual))
	defer cancel()
	defer run.options.asking.attach(ctx, call)()
	progress := call.Progress
	return run.Wait(bounded, func(report Report) {
		if progress != nil {
			progress(float64(report.Steps), float64(run.options.MaxSteps), fmt.Sprintf("run %s, step %d", report.RunID, report.Steps))
		}
	})
}

func (r *Runtime) statusTool(ctx context.Context, call engines.Call, in StatusInput) (Report, error) {
	if run := r.running(in.RunID); run != nil {
		return wait(ctx, call, run, in.WaitMS, 0), nil
	}
	if r.options.Memory.Shared() {
		return r.follow(ctx, call, in.RunID, in.WaitMS, 0)
	}
	return r.Report(in.RunID)
}

// cancelWait is how long agent.cancel waits for the end, in milliseconds, so that a
// repeated call gives the same answer.
const cancelWait = 1000

func (r *Runtime) cancelTool(ctx context.Context, call engines.Call, in CancelInput) (Report, error) {
	run := r.running(in.RunID)
	if err := r.Cancel(in.RunID); err != nil {
		return Report{}, err
	}
	if run != nil {
		wait(ctx, call, run, nil, cancelWait)
	}
	return r.Report(in.RunID)
}

const defaultList = 50

func (r *Runtime) listTool(ctx context.Context, in ListInput) (ListOutput, error) {
	list, err := r.List(ctx)
	if err != nil {
		return ListOutput{}, err
	}
	reports := list[:min(cmp.Or(in.Limit, defaultList), len(list))]
	return ListOutput{Runs: reports, More: len(list) - len(reports)}, nil
}
