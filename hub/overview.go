package hub

import (
	"context"
	"net/http"
	"time"

	"savant/agent"
	"savant/engines"
	"savant/think"
)

// latest is how many runs of each kind the overview shows, and patience how long it
// waits for engines to say how they are.
const (
	latest   = 10
	patience = 2 * time.Second
)

type overviewView struct {
	Decider   string
	Engines   []engines.Health
	Runs      []runRow
	Agents    []agentRow
	Total     int // runs of workflows
	Waiting   []runRow
	Looked    int // at how many of the latest runs, for those that wait
	AgentRuns int
}

func (h *Hub) overview(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	list, err := h.options.Think.StateList(ctx, think.StateListInput{Limit: runsPage})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	reports, err := h.options.Agent.List(ctx)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	view := overviewView{Decider: h.options.Standings.Decider(ctx), Looked: len(list.Runs), Engines: h.engines(ctx), Total: list.Total, AgentRuns: len(reports)}
	for i, each := range list.Runs {
		row := h.runRow(ctx, each)
		if i < latest {
			view.Runs = append(view.Runs, row)
		}
		if row.Standing.WaitsFor != "" {
			view.Waiting = append(view.Waiting, row)
		}
	}
	for _, each := range reports[:min(len(reports), latest)] {
		view.Agents = append(view.Agents, agentRowOf(each))
	}
	h.show(w, r, http.StatusOK, "overview.html", page{Title: "Overview", At: "overview", View: view})
}

// engines asks the engines how they are. One that was not started yet is not started.
func (h *Hub) engines(ctx context.Context) []engines.Health {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return h.options.Tools.Health(asking)
}

// agentRow is a run of the agent in a list.
type agentRow struct {
	Run, Status, Changed, Goal, Model string
	Steps, PromptTokens, OutputTokens int
}

func agentRowOf(report agent.Report) agentRow {
	return agentRow{Run: report.RunID, Status: string(report.Status), Changed: report.Updated, Goal: report.Goal, Model: report.Model,
		Steps: report.Steps, PromptTokens: report.PromptTokens, OutputTokens: report.OutputTokens}
}
