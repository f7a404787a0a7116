package main

import (
	"encoding/json"

	"savant/agent"
	"savant/engines/workflow"
)

// tellWaiting says on stderr how the workflows go on that a run of the agent
// left waiting for somebody.
func (p *program) tellWaiting(report agent.Report) {
	left := map[string]*workflow.Outcome{} // by run
	var order []string
	for _, step := range report.Transcript {
		for _, call := range step.Calls {
			outcome := new(workflow.Outcome)
			if call.Tool != workflow.Name || json.Unmarshal(call.Output, outcome) != nil || outcome.RunID == "" {
				continue
			}
			if left[outcome.RunID] == nil {
				order = append(order, outcome.RunID)
			}
			left[outcome.RunID] = outcome
		}
	}
	for _, run := range order {
		if outcome := left[run]; outcome.Status == workflow.Waiting && outcome.Pending != nil {
			p.printEnd(outcome)
		}
	}
}
