package main

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"savant/agent"
	"savant/engines/repo"
	"savant/think/flow"
)

// maxPast is how many finished runs a search of the memory looks at: each has
// to be opened.
const maxPast = 30

// pastRuns returns what the latest finished runs came to, those of workflows
// and those of the agent.
func (h *house) pastRuns(ctx context.Context) ([]repo.PastRun, error) {
	past, err := h.pastWorkflows(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := h.pastAnswers(ctx)
	return append(past, answers...), err
}

// pastAnswers returns the goals that the agent reached, with its answers.
func (h *house) pastAnswers(ctx context.Context) ([]repo.PastRun, error) {
	listed, err := h.agent.List(ctx)
	if err != nil {
		return nil, err
	}
	var past []repo.PastRun
	for _, each := range listed {
		if len(past) == maxPast {
			break
		}
		if each.Status == agent.StatusOK {
			past = append(past, repo.PastRun{Workflow: "agent", Run: each.RunID, Summary: each.Goal + "\n" + each.Final, Time: begun(each.RunID)})
		}
	}
	return past, nil
}

// begun reads when a run began from its id; empty where somebody chose the id.
func begun(runID string) string {
	id, err := ulid.ParseStrict(runID)
	if err != nil {
		return ""
	}
	return ulid.Time(id.Time()).UTC().Format(time.RFC3339)
}

// pastWorkflows passes over a run that cannot be opened: `savant state check`
// tells of it.
func (h *house) pastWorkflows(ctx context.Context) ([]repo.PastRun, error) {
	listed, err := h.store.List(ctx, "")
	if err != nil {
		return nil, err
	}
	var past []repo.PastRun
	for _, each := range listed {
		if len(past) == maxPast {
			break
		}
		if each.Status != string(flow.Done) {
			continue
		}
		at, err := h.think.Position(ctx, each.Workflow, each.Run)
		if err != nil || at.Final == nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		past = append(past, repo.PastRun{Workflow: each.Workflow, Run: each.Run, Summary: at.Final.Summary, Time: each.Updated})
	}
	return past, nil
}
