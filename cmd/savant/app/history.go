package app

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"savant/agent"
	"savant/engines/repo"
	"savant/think/flow"
	"savant/think/state"
)

// maxFinished is how many finished runs a search of the memory opens.
const maxFinished = 30

// finishedRuns returns the outcomes of the latest finished runs of workflows and of the
// agent.
func (a *App) finishedRuns(ctx context.Context) ([]repo.PastRun, error) {
	found, err := a.finishedWorkflows(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := a.finishedAnswers(ctx)
	return append(found, answers...), err
}

// finishedAnswers returns the agent's finished goals with its answers.
func (a *App) finishedAnswers(ctx context.Context) ([]repo.PastRun, error) {
	listed, err := a.Agent.List(ctx)
	if err != nil {
		return nil, err
	}
	var found []repo.PastRun
	for _, each := range listed {
		if len(found) == maxFinished {
			break
		}
		if each.Status == agent.StatusOK {
			found = append(found, repo.PastRun{Workflow: "agent", Run: each.RunID, Summary: each.Goal + "\n" + each.Final, Time: begun(each.RunID)})
		}
	}
	return found, nil
}

// begun returns a run's start time from its id; empty for an id chosen by a user.
func begun(runID string) string {
	id, err := ulid.ParseStrict(runID)
	if err != nil {
		return ""
	}
	return ulid.Time(id.Time()).UTC().Format(time.RFC3339)
}

// finishedWorkflows returns the latest finished runs of workflows. It skips a run that
// cannot be opened: `savant state check` reports it.
func (a *App) finishedWorkflows(ctx context.Context) ([]repo.PastRun, error) {
	listed, err := a.Store.List(ctx, state.Filter{})
	if err != nil {
		return nil, err
	}
	var found []repo.PastRun
	for _, each := range listed {
		if len(found) == maxFinished {
			break
		}
		if each.Status != string(flow.Done) {
			continue
		}
		at, err := a.Think.Position(ctx, each.Workflow, each.Run)
		if err != nil || at.Final == nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		found = append(found, repo.PastRun{Workflow: each.Workflow, Run: each.Run, Summary: at.Final.Summary, Time: each.Updated})
	}
	return found, nil
}
