package guide

import (
	"context"

	"savant/engines"
	"savant/fault"
	"savant/think"
	"savant/think/state"
)

// Hooks say how clients are held to the runs that they plan. Only the process of a hook
// announces calls: what arrives over MCP may be of the model. The zero value is a server
// without hooks.
type Hooks struct {
	// Announcements are what hooks said of calls; nil: no call needs one.
	Announcements Announcements
	// Required: every run needs hooks, not only those of workflows with enforce:
	// required.
	Required bool
	// Rulings has the calls that rules refused; nil: none.
	Rulings Rulings
}

// Rulings has the calls that rules refused.
type Rulings interface {
	// RefusedIn returns those of a run and of the caller's session, the last first.
	RefusedIn(call engines.Call, workflow, run string) ([]think.RuleRefusal, error)
}

// Announcements are the calls that hooks have just seen; *sessions.Gate has them.
type Announcements interface {
	// Probed reports whether a hook saw a call of think.plan.
	Probed(ctx context.Context, workflow, run string) (bool, error)
	// Continued reports whether a hook saw a call of think.next for a step of a run.
	Continued(ctx context.Context, workflow, run, step string) (bool, error)
	// Conversation returns the session whose hook saw a call; nil if none is known.
	Conversation(ctx context.Context, asked think.Asked) *think.Conversation
}

// caller is who makes a call, with the client's session if a hook announced it.
func (h Hooks) caller(ctx context.Context, call engines.Call, asked think.Asked) think.Caller {
	caller := Caller(call)
	if h.Announcements != nil && call.Agent.RunID == "" && (asked.Run == "" || asked.Tool == "think.plan") {
		caller.Conversation = h.Announcements.Conversation(ctx, asked)
	}
	return caller
}

// required is think.plan for clients: HOOKS_MISSING if the run requires hooks and no
// hook saw the call.
func (h Hooks) required(e *think.Engine) tool[think.PlanInput, *think.Reply] {
	return func(ctx context.Context, call engines.Call, in think.PlanInput) (*think.Reply, error) {
		if h.Announcements != nil && (h.Required || asksForHooks(ctx, e, in.Workflow)) {
			probed, err := h.Announcements.Probed(ctx, in.Workflow, in.RunID)
			if err != nil {
				return nil, err
			}
			if !probed {
				return nil, hooksMissing()
			}
		}
		in.Caller = h.caller(ctx, call, think.Asked{Tool: "think.plan", Workflow: in.Workflow, Run: in.RunID})
		in.Resumes = call.Resumes
		return e.Plan(ctx, in)
	}
}

// asksForHooks reports whether a workflow, or one that it runs, has enforce: required.
// Errors in the workflow are left to Plan.
func asksForHooks(ctx context.Context, e *think.Engine, name string) bool {
	graph, _, err := e.Library.Snapshot(ctx, name)
	if err != nil {
		return false
	}
	return graph.Enforced()
}

// continues is think.next for clients: HOOKS_MISSING if the run requires hooks and no
// hook saw the call, for example in a session that did not plan the run.
func (h Hooks) continues(e *think.Engine) tool[think.NextInput, *think.Reply] {
	return func(ctx context.Context, call engines.Call, in think.NextInput) (*think.Reply, error) {
		in.Caller = h.caller(ctx, call, think.Asked{Tool: "think.next", Workflow: in.Workflow, Run: in.RunID, Step: in.StepID})
		if h.Announcements != nil {
			in.Caller.Admission = h
		}
		return e.Next(ctx, in)
	}
}

// Admit implements think.Admission.
func (h Hooks) Admit(ctx context.Context, run state.Key, step string, enforced bool) error {
	if !enforced && !h.Required {
		return nil
	}
	continued, err := h.Announcements.Continued(ctx, run.Workflow, run.Run, step)
	if err == nil && !continued {
		err = hooksMissing()
	}
	return err
}

func hooksMissing() error {
	return fault.New(fault.HooksMissing, "the workflow must be enforced, and no hook of this client announced the call").
		Hinted(fault.Hint{Text: "a person must set up the hooks and restart the client: savant setup CLIENT; docs/enforcement.md lists the clients that can"})
}
