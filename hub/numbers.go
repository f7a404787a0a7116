package hub

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"savant/agent"
	"savant/hub/numbers"
	"savant/telemetry"
	"savant/think/state"
)

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
	err := h.index.Refresh()
	var list []state.Info
	var reports []agent.Report
	if err == nil {
		list, err = h.options.Think.Store.List(r.Context(), state.Filter{})
	}
	if err == nil {
		reports, err = h.options.Agent.List(r.Context())
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	list, reports = list[:min(len(list), numbersOf)], reports[:min(len(reports), numbersOf)]
	view := numbersView{Days: numbersDays, Runs: len(list), Agents: len(reports)}
	var runs, agents, models []numbers.Run
	steps := map[[2]string]*numbers.Step{}
	for _, each := range list {
		run, answered := h.countRun(r.Context(), each, steps)
		runs, models = append(runs, run), append(models, answered...)
	}
	for _, each := range reports {
		agents = append(agents, h.countAgent(each))
	}
	view.Workflows, view.Models = numbers.Rows(runs), numbers.Rows(append(models, agents...))
	view.Slowest, view.Refused = topSteps(steps, func(s *numbers.Step) int { return int(s.Took) }), topSteps(steps, func(s *numbers.Step) int { return s.Refused })
	for _, each := range []struct {
		kind string
		of   []numbers.Run
	}{{"workflows", runs}, {"the agent", agents}} {
		view.draw("Runs of "+each.kind, each.of, func(numbers.Run) float64 { return 1 })
		view.draw("Tokens of "+each.kind, each.of, func(run numbers.Run) float64 { return float64(run.Tokens) })
		view.draw("Cost of "+each.kind, each.of, func(run numbers.Run) float64 { return run.Cost })
	}
	h.show(w, r, http.StatusOK, "numbers.html", page{Title: "Numbers", At: "numbers", Live: anyRun, View: view})
}

// countAgent counts a run of the agent under the model that decided last.
func (h *Hub) countAgent(report agent.Report) numbers.Run {
	out := numbers.Run{Name: cmp.Or(report.Model, "no model"), Outcome: string(report.Status), Began: instant(report.Started), Ended: instant(report.Updated), Tokens: report.PromptTokens + report.OutputTokens,
		Refused: h.index.Count(report.RunID, telemetry.PolicyDenied), Ends: report.Started != "" && report.Status != agent.StatusRunning && report.Status != agent.StatusWaiting}
	if report.Cost != nil {
		out.Cost = *report.Cost
	}
	return out
}

// draw adds a chart; one without a value is left out.
func (v *numbersView) draw(title string, runs []numbers.Run, value func(numbers.Run) float64) {
	bars, top := numbers.Days(runs, v.Days, time.Now(), value)
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

// countRun counts a run and its steps, and the run once more for each model that answered
// its steps. The time of an answer is that since the record before it, so that a wait for a
// person counts, too. A run that cannot be read has no steps.
func (h *Hub) countRun(ctx context.Context, run state.Info, steps map[[2]string]*numbers.Step) (whole numbers.Run, models []numbers.Run) {
	whole = numbers.Run{Name: run.Workflow, Outcome: run.Status, Began: instant(run.Created), Ended: instant(run.Updated), Ends: hasEnded(run.Status)}
	of, answers := map[string]*numbers.Run{}, map[string]string{}
	for _, call := range h.index.Calls(run.Workflow, run.Run) {
		if of[call.Model] == nil {
			of[call.Model] = &numbers.Run{Name: call.Model, Outcome: run.Status, Began: whole.Began, Ended: whole.Ended}
		}
		answers[call.Step] = call.Model
		for _, each := range []*numbers.Run{&whole, of[call.Model]} {
			each.Tokens, each.Cost = each.Tokens+call.PromptTokens+call.OutputTokens, each.Cost+call.Cost
		}
	}
	events, _ := h.events(ctx, run.Key(), max(0, run.Version-numbersRecords), numbersRecords) // it is damaged: the page of the run says so
	for i, each := range events {
		refused := each.Refused != "" || each.Refusal != nil
		if refused {
			whole.Refused++
			if model, is := answers[each.Step]; is {
				of[model].Refused++
			}
		}
		if each.Step == "" || i == 0 {
			continue
		}
		key := [2]string{run.Workflow, each.Step}
		if steps[key] == nil {
			steps[key] = &numbers.Step{Workflow: run.Workflow, Step: each.Step}
		}
		steps[key].Add(refused, instant(each.Time).Sub(instant(events[i-1].Time)))
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		models = append(models, *of[name])
	}
	return whole, models
}

// instant parses a time. It returns the zero time for any other text.
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
