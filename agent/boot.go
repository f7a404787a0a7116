package agent

import (
	"context"
	"encoding/json"

	"savant/reasoning"
	"savant/telemetry"
)

// boot learns what a model is told: persona, driver, rules and repository.
// What cannot be learned is a warning, an unknown persona an error.
func (r *Run) boot() (Signal, error) {
	options := r.runtime.options
	if options.Prompts != nil {
		prompts, err := options.Prompts(r.ctx)
		r.warn("prompts.yml is not read", err)
		r.prompts = prompts
	}
	r.rules = triggered(r.prompts.Rules, r.order.Goal)
	persona := r.order.Persona
	if persona == "" && len(r.rules) > 0 {
		persona = r.rules[0].Persona
	}
	var known bool
	if r.persona, known = r.prompts.persona(persona); !known {
		r.recordStart()
		return failed, invalid("persona", r.prompts.without(persona))
	}
	if options.Repo != nil && !r.order.SkipGit && !r.order.DryRun {
		repo, err := options.Repo(r.ctx)
		r.warn("the repository is not described", err)
		r.repo = repo
	}
	r.tellUntold()
	r.recordStart()
	r.startSave() // a run is listed from its beginning
	if r.unfinished() {
		return resumed, nil
	}
	return booted, nil
}

func (r *Run) warn(what string, err error) {
	if err != nil {
		r.runtime.options.Logger.WarnContext(r.ctx, what, "run", r.ID(), "cause", err.Error())
	}
}

// unfinished says whether calls of a decision received before are still to be
// made.
func (r *Run) unfinished() bool {
	for _, each := range r.pending {
		if each {
			return true
		}
	}
	return false
}

// ready says whether a call is forced, by the order or by what the goal means.
func (r *Run) ready() (Signal, error) {
	if r.outcome.Status != "" { // a resumed run had decided to end
		return finish, nil
	}
	if r.index > 0 {
		return begin, nil
	}
	call, found := r.forcedCall()
	if found {
		return r.force(call)
	}
	if r.order.DryRun || r.order.ForceFinish {
		r.outcome = outcome{Status: StatusOK, Final: "ok"}
		return finish, nil
	}
	return begin, nil
}

// workflowTool runs a workflow without a client.
const workflowTool = "workflow.workflow_run"

// workflowWait is how long a step waits for a workflow, in milliseconds.
const workflowWait = 3_600_000

// forcedBy stands for the model of a decision that nobody was asked for.
const forcedBy = "forced"

// forcedCall returns the call that comes first: a forced tool, a workflow that
// was named, or one that the goal leads to.
func (r *Run) forcedCall() (reasoning.Call, bool) {
	if r.order.ForceTool != "" {
		args := r.order.ForceArgs
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		return reasoning.Call{ToolName: r.order.ForceTool, Args: args}, true
	}
	if r.order.Workflow != "" {
		return r.workflowCall(r.order.Workflow, ""), true
	}
	if name, parameter := r.detect(); name != "" {
		return r.workflowCall(name, parameter), true
	}
	return reasoning.Call{}, false
}

// detect returns the workflow that the goal leads to, where one may be run.
func (r *Run) detect() (workflow, parameter string) {
	tool, exists := find(r.box.Tools(), workflowTool)
	if r.runtime.options.DisableDetect || !exists || r.box.denies(tool) != "" {
		return "", ""
	}
	for _, each := range r.rules {
		if each.Workflow != "" {
			return each.Workflow, each.ParamFromGoal
		}
	}
	return named(r.workflows(r.ctx), r.order.Goal), ""
}

func (r *Run) workflows(ctx context.Context) []string {
	if r.runtime.options.Workflows == nil {
		return nil
	}
	names, err := r.runtime.options.Workflows(ctx)
	r.warn("the workflows are not listed", err)
	return names
}

func (r *Run) workflowCall(name, parameter string) reasoning.Call {
	args := map[string]any{"workflow": name, "wait_ms": workflowWait}
	if parameter != "" {
		args["params"] = map[string]any{parameter: r.order.Goal}
	}
	raw, err := json.Marshal(args)
	if err != nil { // strings always marshal
		raw = json.RawMessage("{}")
	}
	return reasoning.Call{ToolName: workflowTool, Args: raw}
}

// force makes a call the first step, as if it had been decided.
func (r *Run) force(call reasoning.Call) (Signal, error) {
	r.begin(1)
	r.intent = reasoning.Intent{Action: reasoning.ActionTool, ToolName: r.canonical(call.ToolName), Args: call.Args, Model: forcedBy}
	if err := r.keepDecision(); err != nil {
		return failed, err
	}
	r.recordStep(r.intent)
	r.prepare()
	return forced, nil
}

// recordStart tells that the run goes on, and what it knows.
func (r *Run) recordStart() {
	metadata := map[string]any{"goal": r.order.Goal, "persona": r.persona.Name, "decider": r.runtime.options.Decider,
		"max_steps": r.order.MaxSteps, "amr_rules_triggered": ruleNames(r.rules), "tools": len(r.box.Tools())}
	if r.index > 0 {
		metadata["resumed_at"] = r.index
	}
	if r.repo != nil {
		metadata["repo"] = r.repo.Name + " " + r.repo.Branch
	}
	r.event(telemetry.Event{Type: telemetry.RunStarted, Status: string(StatusRunning), Metadata: metadata})
}

func ruleNames(rules []Rule) []any {
	names := make([]any, len(rules))
	for i, each := range rules {
		names[i] = each.Name
	}
	return names
}
