package hub

import (
	"context"
	"net/http"
	"sync"
	"time"

	"savant/agent"
	"savant/hub/metrics"
	"savant/think/state"
)

// The state of runs is cached for standingsLast. Only this many open runs are read for whom
// they wait.
const (
	standingsLast = 5 * time.Second
	standingsOf   = 100
)

// scrape is the state between two responses of /metrics.
type scrape struct {
	counted *metrics.Metrics

	mu       sync.Mutex
	now      metrics.Now
	at       time.Time
	versions map[string]int // of each run of a workflow, when last read
}

func newScrape() *scrape { return &scrape{counted: metrics.New(), versions: map[string]int{}} }

// metrics answers a scraper without a session. The response contains counts and names
// of tools, models and codes, but no text of a run.
func (h *Hub) metrics(w http.ResponseWriter, r *http.Request) {
	err := h.index.Refresh()
	var now metrics.Now
	if err == nil {
		now, err = h.standNow(r.Context())
	}
	if err != nil {
		h.options.Logger.WarnContext(r.Context(), "the metrics cannot be read", "cause", err.Error())
		http.Error(w, "the metrics cannot be read; the log has the cause", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", metrics.ContentType)
	_ = h.scrape.counted.Write(w, now) // the client may be gone
}

// standNow returns the current state of runs and questions.
func (h *Hub) standNow(ctx context.Context) (metrics.Now, error) {
	s := h.scrape
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) < standingsLast {
		s.now.Lost = h.index.Lost()
		return s.now, nil
	}
	now := metrics.Now{Open: map[metrics.Standing]int{}, Waiting: map[string]int{"person": 0, "model": 0, "tool": 0}, Records: s.now.Records, Lost: h.index.Lost()}
	if err := h.workflowsNow(ctx, &now); err != nil {
		return now, err
	}
	if count, queued := h.options.Standings.Unanswered(ctx); queued {
		now.Unanswered = &count
	}
	reports, err := h.options.Agent.List(ctx)
	if err != nil {
		return now, err
	}
	for _, each := range reports {
		switch each.Status {
		case agent.StatusRunning, agent.StatusQueued, agent.StatusWaiting, agent.StatusInterrupted:
			now.Open[metrics.Standing{Kind: "agent", Status: string(each.Status)}]++
		}
	}
	s.now, s.at = now, time.Now()
	return now, nil
}

// workflowsNow counts open runs of workflows, and the records since the last read.
func (h *Hub) workflowsNow(ctx context.Context, now *metrics.Now) error {
	list, err := h.options.Think.Store.List(ctx, state.Filter{})
	if err != nil {
		return err
	}
	versions := make(map[string]int, len(list))
	defer func() { h.scrape.versions = versions }()
	for _, each := range list {
		key := each.Key().String()
		versions[key] = each.Version
		if before := max(h.scrape.versions[key], 1); each.Version > before { // the first record is the plan, not a step
			now.Records += uint64(each.Version - before)
		}
	}
	for i, each := range openRuns(list, len(list)) {
		standing := Standing{Status: each.Status}
		if i < standingsOf {
			standing = h.options.Standings.Standing(ctx, each)
		} else if asksPerson(each) {
			standing.WaitsFor = forPerson
		}
		now.Open[metrics.Standing{Kind: "workflow", Status: standing.Status}]++
		if standing.WaitsFor != "" {
			now.Waiting[standing.WaitsFor]++
		}
	}
	return nil
}
