package hub

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/agent"
	"savant/hub/metrics"
	"savant/hub/numbers"
	"savant/think/flow"
	"savant/think/state"
)

// The state of runs is cached for standingsLast. Of open runs only this many, the
// latest, are asked for whom they wait.
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
	open := 0
	for _, each := range list {
		key := each.Key().String()
		versions[key] = each.Version
		if before := max(h.scrape.versions[key], 1); each.Version > before { // the first record is the plan, not a step
			now.Records += uint64(each.Version - before)
		}
		if each.Status != string(flow.Running) && each.Status != string(flow.Waiting) && each.Status != string(flow.Blocked) {
			continue
		}
		standing := Standing{Status: each.Status}
		if open++; open <= standingsOf {
			standing = h.options.Standings.Standing(ctx, each)
		}
		now.Open[metrics.Standing{Kind: "workflow", Status: standing.Status}]++
		if standing.WaitsFor != "" {
			now.Waiting[standing.WaitsFor]++
		}
	}
	return nil
}

// The numbers of the page are of the latest runs: numbersOf of each kind, and of each the
// last numbersRecords records. Charts have numbersDays, lists of steps numbersSteps rows.
const (
	numbersOf      = 200
	numbersRecords = 1000
	numbersDays    = 14
	numbersSteps   = 10
)

type numbersView struct {
	Days              int
	Workflows, Models []numbers.Row
	Charts            []chart
	Slowest, Refused  []numbers.Step
	Runs, Agents      int // how many were read
}

// chart is a chart of days. Text says all its values.
type chart struct {
	Title, Top, Text string
	Width, Height    int
	Bars             []numbers.Bar
}

// showNumbers shows what the latest runs of each workflow and model came to.
func (h *Hub) showNumbers(w http.ResponseWriter, r *http.Request) {
	list, err := h.options.Think.Store.List(r.Context(), state.Filter{})
	var reports []agent.Report
	if err == nil {
		reports, err = h.options.Agent.List(r.Context())
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	list, reports = list[:min(len(list), numbersOf)], reports[:min(len(reports), numbersOf)]
	view := numbersView{Days: numbersDays, Runs: len(list), Agents: len(reports)}
	var runs, agents []numbers.Run
	steps := map[[2]string]*numbers.Step{}
	for _, each := range list {
		runs = append(runs, h.countRun(r.Context(), each, steps))
	}
	for _, each := range reports {
		one := numbers.Run{Name: cmp.Or(each.Model, "no model"), Outcome: string(each.Status), Began: instant(each.Started), Ended: instant(each.Updated),
			Tokens: each.PromptTokens + each.OutputTokens, Ends: each.Started != "" && each.Status != agent.StatusRunning && each.Status != agent.StatusWaiting}
		if each.Cost != nil {
			one.Cost = *each.Cost
		}
		agents = append(agents, one)
	}
	view.Workflows, view.Models = numbers.Rows(runs), numbers.Rows(agents)
	view.Slowest, view.Refused = topSteps(steps, func(s *numbers.Step) int { return int(s.Took) }), topSteps(steps, func(s *numbers.Step) int { return s.Refused })
	now := time.Now()
	view.draw("Runs of workflows", runs, now, func(numbers.Run) float64 { return 1 })
	view.draw("Runs of the agent", agents, now, func(numbers.Run) float64 { return 1 })
	view.draw("Tokens of the agent", agents, now, func(each numbers.Run) float64 { return float64(each.Tokens) })
	view.draw("Cost of the agent", agents, now, func(each numbers.Run) float64 { return each.Cost })
	h.show(w, r, http.StatusOK, "numbers.html", page{Title: "Numbers", At: "numbers", View: view})
}

// draw adds a chart; one without a value is left out.
func (v *numbersView) draw(title string, runs []numbers.Run, now time.Time, value func(numbers.Run) float64) {
	bars, top := numbers.Days(runs, v.Days, now, value)
	if top == 0 {
		return
	}
	drawn := chart{Title: title, Top: amount(top), Width: numbers.ChartWidth, Height: numbers.ChartHeight, Bars: bars}
	var texts []string
	for _, each := range bars {
		if each.Value > 0 {
			texts = append(texts, each.Day+": "+amount(each.Value))
		}
	}
	drawn.Text = strings.Join(texts, ", ")
	v.Charts = append(v.Charts, drawn)
}

// countRun counts a run and its steps. The time of an answer is that since the record
// before it, so that a wait for a person counts, too. A run that cannot be read has no steps.
func (h *Hub) countRun(ctx context.Context, run state.Info, steps map[[2]string]*numbers.Step) numbers.Run {
	out := numbers.Run{Name: run.Workflow, Outcome: run.Status, Began: instant(run.Created), Ended: instant(run.Updated), Ends: hasEnded(run.Status)}
	events, err := h.events(ctx, run.Key(), max(0, run.Version-numbersRecords), numbersRecords)
	if err != nil {
		return out
	}
	for i, each := range events {
		if each.Refused != "" || each.Refusal != nil {
			out.Refused++
		}
		if each.Step == "" || i == 0 {
			continue
		}
		key := [2]string{run.Workflow, each.Step}
		if steps[key] == nil {
			steps[key] = &numbers.Step{Workflow: run.Workflow, Step: each.Step}
		}
		steps[key].Add(each.Refused != "", instant(each.Time).Sub(instant(events[i-1].Time)))
	}
	return out
}

// instant parses a time; the zero time if it is none.
func instant(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// topSteps returns the steps with the largest values, none with zero.
func topSteps(steps map[[2]string]*numbers.Step, value func(*numbers.Step) int) (out []numbers.Step) {
	all := slices.Collect(maps.Values(steps))
	slices.SortFunc(all, func(a, b *numbers.Step) int { return cmp.Or(value(b)-value(a), cmp.Compare(a.Step, b.Step)) })
	for _, each := range all[:min(len(all), numbersSteps)] {
		if value(each) > 0 {
			out = append(out, *each)
		}
	}
	return out
}
