package main

import (
	"context"

	"savant/engines/repo"
	"savant/think/flow"
)

// maxPast is how many finished runs a search of the memory looks at: each has
// to be opened.
const maxPast = 30

// pastRuns returns what the latest finished runs came to. A run that cannot be
// opened is passed over: `savant state check` tells of it.
func (h *house) pastRuns(ctx context.Context) ([]repo.PastRun, error) {
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
