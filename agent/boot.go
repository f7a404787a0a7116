package agent

import (
	"encoding/json"

	"savant/internal/jsonvalue"
	"savant/reasoning"
	"savant/telemetry"
)

// boot reads the context of every question: persona, driver, rules and repository. A
// failed read is a warning; an unknown persona is INVALID_PARAMS.
func (r *Run) boot(t turn) (turn, Signal, error) {
	options, brief := r.runtime.options, &r.briefing
	if !r.options.DryRun {
		options.Project.AwaitTools(r.ctx)
	}
	prompts, err := options.Project.Prompts(r.ctx)
	r.warn("prompts.yml cannot be read", err)
	brief.prompts = prompts
	if !r.options.SkipGit && !r.options.DryRun {
		brief.repo, err = options.Project.Repo(r.ctx)
		r.warn("the repository cannot be described", err)
	}
	brief.rules = triggered(brief.prompts.Rules, r.options.Goal, brief.branches())
	persona := r.options.Persona
	if persona == "" && len(brief.rules) > 0 {
		persona = brief.rules[0].Persona
	}
	var known bool
	if brief.persona, known = brief.prompts.persona(persona); !known {
		r.recordStart(t)
		return t, failed, invalid("persona", brief.prompts.without(persona))
	}
	r.backfillTrace()
	if t.index == 0 || r.turned {
		brief.begins = r.forcedCall()
	}
	r.recordStart(t)
	r.save(t.index, outcome{}) // from now on lists show the run
	if len(t.asked) > 0 {
		return t, resumed, nil
	}
	return t, booted, nil
}

func (r *Run) warn(what string, err error) {
	if err != nil {
		r.runtime.options.Logger.WarnContext(r.ctx, what, "run", r.ID(), "cause", err.Error())
	}
}

// ready starts with a forced call, if the options or the goal demand one.
func (r *Run) ready(t turn) (turn, Signal, error) {
	if t.outcome.Status != "" { // the resumed run had decided to end
		return t, finish, nil
	}
	if t.index > 0 && !r.turned {
		return t, begin, nil
	}
	if call := r.briefing.begins.call; call.ToolName != "" {
		t = newTurn(t.index+1, reasoning.Intent{Action: reasoning.ActionTool, ToolName: r.canonical(call.ToolName), Args: call.Args, Model: forcedBy, Reasoning: r.briefing.begins.text()}, nil)
		if err := r.appendDecision(t); err != nil {
			return t, failed, err
		}
		r.recordDecision(t, 0)
		return t, forced, nil
	}
	if r.options.DryRun || r.options.ForceFinish {
		t.outcome = outcome{Status: StatusOK, Final: "ok"}
		return t, finish, nil
	}
	return t, begin, nil
}

// workflowTool runs a workflow without a client.
const workflowTool = "workflow.workflow_run"

// workflowWait is how long a step waits for a workflow, in milliseconds.
const workflowWait = 3_600_000

// forcedBy stands for the model in a forced decision.
const forcedBy = "forced"

// forcedCall returns the call that comes first: a forced tool, a workflow that
// the options name, or one that the goal leads to. It is empty if there is no such call.
func (r *Run) forcedCall() beginning {
	if r.options.ForceTool != "" {
		args := r.options.ForceArgs
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		return beginning{call: reasoning.Call{ToolName: r.options.ForceTool, Args: args}}
	}
	name, parameter, because := r.options.Workflow, "", becauseOrdered
	if name == "" {
		name, parameter, because = r.detect()
	}
	if name == "" {
		return beginning{}
	}
	input := map[string]any{"workflow": name, "wait_ms": workflowWait}
	if parameter != "" {
		input["params"] = map[string]any{parameter: r.options.Goal}
	}
	args, err := jsonvalue.Encode(input)
	if err != nil {
		panic("agent: strings and numbers do not encode: " + err.Error())
	}
	return beginning{reasoning.Call{ToolName: workflowTool, Args: args}, name, because}
}

// detect returns the workflow that the goal selects, unless the goal's words or the
// policy forbid to run it.
func (r *Run) detect() (workflow, parameter, because string) {
	tool, exists := find(r.runtime.options.Toolbox.Tools(), workflowTool)
	if r.runtime.options.DisableDetect || !exists || r.guard.cues.noRun || r.guard.denies(tool, r.options.orderOf(tool.Name)) != "" {
		return "", "", ""
	}
	workflow, parameter, because = r.selectWorkflow()
	if workflow == "" || forbids(r.options.Goal, workflow) {
		return "", "", ""
	}
	return workflow, parameter, because
}

// selectWorkflow returns the workflow that a rule or a name in the goal selects.
func (r *Run) selectWorkflow() (workflow, parameter, because string) {
	for _, each := range r.briefing.rules {
		if each.Workflow != "" && each.matches(r.options.Goal, inquiry(), r.briefing.branches()) {
			return each.Workflow, each.ParamFromGoal, becauseOfRule(each.Name)
		}
	}
	names, err := r.runtime.options.Project.Workflows(r.ctx)
	r.warn("the workflows cannot be listed", err)
	return orderedWorkflow(names, r.options.Goal), "", becauseNamed
}

// recordStart records the start or resumption of the run, with its context.
func (r *Run) recordStart(t turn) {
	metadata := map[string]any{"goal": r.options.Goal, "persona": r.briefing.persona.Name, "decider": r.decider(),
		"max_steps": r.options.MaxSteps, "amr_rules_triggered": ruleNames(r.briefing.rules),
		"tools": len(r.guard.allowed(r.runtime.options.Toolbox.Tools()))}
	if t.index > 0 {
		metadata["resumed_at"] = t.index
	}
	if begins := r.briefing.begins; begins.workflow != "" {
		metadata["begins"] = begins.text()
	}
	if repo := r.briefing.repo; repo != nil {
		metadata["repo"] = repo.Name + " " + repo.Branch
	}
	r.event(t.index, telemetry.Event{Type: telemetry.RunStarted, Status: string(StatusRunning), Metadata: metadata})
}

// decider describes the Reasoning API that decides, for people.
func (r *Run) decider() string {
	if r.options.DryRun {
		return r.runtime.options.Decider.Name()
	}
	return r.runtime.options.Decider.Identify(r.ctx)
}

func ruleNames(rules []Rule) []any {
	names := make([]any, len(rules))
	for i, each := range rules {
		names[i] = each.Name
	}
	return names
}
