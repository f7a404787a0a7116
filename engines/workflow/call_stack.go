package workflow

import (
	"slices"

	"savant/engines"
	"savant/fault"
	"savant/think/flow"
)

// checkDepth returns LIMIT_EXCEEDED if as many runs wait for a call as may: a step of a
// driven run may drive another run.
func checkDepth(call engines.Call) error {
	if len(call.Waiting) < flow.MaxWorkflowDepth {
		return nil
	}
	return fault.New(fault.LimitExceeded, "%d runs already wait for this one: a workflow that runs itself must end sooner", len(call.Waiting))
}

// checkCycle returns CYCLIC_DEPENDENCY if the run waits for the call: it would wait for
// itself.
func checkCycle(call engines.Call, run engines.Run) error {
	if !slices.Contains(call.Waiting, run) {
		return nil
	}
	return fault.New(fault.CyclicDependency, "run %s of workflow %s would wait for itself", run.RunID, run.Workflow)
}
