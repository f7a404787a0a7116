package hub

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"savant/agent"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/telemetry"
	"savant/think"
	"savant/think/audit"
	"savant/think/flow"
	"savant/think/state"
)

// changesView is the difference of two states, of one run or of two.
type changesView struct {
	From, To, Latest int
	Kept             []formField
	Shown            bool   // a difference was requested
	Before, After    string // the names of the sides
	Steps            []stepChange
	StepPager        pager
	Captures         []valueChange
	CapturePager     pager
	Same             int // number of equal steps
}

// stepChange is a step on both sides.
type stepChange struct {
	ID            string
	Before, After *stepSide // nil if the side has no such step
	Same          bool
}

// stepSide is a step on one side.
type stepSide struct {
	flow.StepStatus
	Took                       string
	PromptTokens, OutputTokens int
}

// valueChange is a changed capture, with its first differing places.
type valueChange struct {
	Name                  string
	Places                []placeChange
	Left                  int // number of places not shown
	SizeBefore, SizeAfter int
}

// placeChange is a place of a value before and after.
type placeChange struct {
	Path          string
	Before, After *capture // nil if absent
}

// changesOf reads the difference of the two versions in the query. Without any it
// proposes the last step.
func (h *Hub) changesOf(r *http.Request, key state.Key, latest int) (*changesView, error) {
	query := r.URL.Query()
	out := &changesView{From: max(1, latest-1), To: latest, Latest: latest, Shown: query.Has("from") || query.Has("to")}
	if from, err := strconv.Atoi(query.Get("from")); err == nil {
		out.From = from
	}
	if to, err := strconv.Atoi(query.Get("to")); err == nil {
		out.To = to
	}
	out.Before, out.After = "v"+strconv.Itoa(out.From), "v"+strconv.Itoa(out.To)
	if !out.Shown {
		return out, nil
	}
	for _, side := range []int{out.From, out.To} {
		if side < 1 { // 0 would be the latest
			return nil, fault.New(fault.CheckpointNotFound, "run %q has no version v%d", key.Run, side)
		}
	}
	changes, err := audit.New(h.options.Think).Between(r.Context(), audit.At{Key: key, Version: out.From}, audit.At{Key: key, Version: out.To})
	if err != nil {
		return nil, err
	}
	h.fillChanges(r, out, changes, true)
	return out, nil
}

// fillChanges adds a page of the steps, with only set just the changed ones, and a page
// of the changed captures.
func (h *Hub) fillChanges(r *http.Request, out *changesView, changes *audit.Changes, only bool) {
	var rows []stepChange
	for _, each := range changes.Steps {
		if each.Same {
			out.Same++
		}
		if only && each.Same {
			continue
		}
		rows = append(rows, stepChange{ID: each.ID, Before: sideOf(each.Before), After: sideOf(each.After), Same: each.Same})
	}
	from, to, pager := paged(r, "changed", len(rows), stepsPage, 0)
	out.Steps, out.StepPager = slices.Clone(rows[from:to]), pager
	from, to, out.CapturePager = paged(r, "values", len(changes.Captures), capturesPage, 0)
	for _, each := range changes.Captures[from:to] {
		out.Captures = append(out.Captures, h.valueChange(each))
	}
}

func sideOf(step *flow.StepStatus) *stepSide {
	if step == nil {
		return nil
	}
	return &stepSide{StepStatus: *step}
}

// placesShown is how many places of a capture a page shows.
const placesShown = 12

func (h *Hub) valueChange(each audit.ValueChange) valueChange {
	out := valueChange{Name: each.Name, SizeBefore: each.SizeBefore, SizeAfter: each.SizeAfter}
	for _, place := range each.Places[:min(len(each.Places), placesShown)] {
		out.Places = append(out.Places, placeChange{Path: place.Path, Before: h.placeValue(each.Name+place.Path, place.Before), After: h.placeValue(each.Name+place.Path, place.After)})
	}
	out.Left = each.Whole - len(out.Places)
	return out
}

// placeValue is a value at a place, redacted also by the place's name.
func (h *Hub) placeValue(path string, raw []byte) *capture {
	if raw == nil {
		return nil
	}
	out := &capture{Size: len(raw)}
	name := path[strings.LastIndexByte(path, '/')+1:]
	var named map[string]json.RawMessage
	clean := h.options.Redactor.JSON(jsonvalue.Encoded(map[string]any{name: json.RawMessage(raw)}))
	if len(raw) <= tooLarge && json.Unmarshal(clean, &named) == nil {
		for _, each := range named {
			raw = each
		}
	}
	out.Text, out.Cut = h.value(raw, captureShown)
	return out
}

// compareView is the page that compares two runs of one workflow or of the agent.
type compareView struct {
	Left, Right    string // from the query: WORKFLOW/RUN, or the id of a run of the agent
	Kind           string // workflow or agent
	Problem        string
	Choices        []choice
	Both           []comparedRun
	Facts          []comparedFact
	Changes        *changesView
	Agents         []comparedStep
	AgentPager     pager
	Only           bool
	OnlyHref, Swap url.Values
}

// choice is a run to compare with; Changed is when it last changed.
type choice struct{ Value, Label, Changed string }

// comparedRun is one of the two runs.
type comparedRun struct{ Name, Href, Status string }

// comparedFact is a fact of both runs.
type comparedFact struct {
	Name, Left, Right string
	Same              bool
}

// comparedStep is a step of two runs of the agent.
type comparedStep struct {
	Index       int
	Left, Right *agentStep
	Same        bool
}

// agentStep is a step of a run of the agent.
type agentStep struct {
	Action, Tool, Args, Output, Error, Took string
}

// compare shows two runs side by side; with only one, a list of runs to compare with.
func (h *Hub) compare(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	view := &compareView{Left: query.Get("left"), Right: query.Get("right"), Kind: query.Get("kind"), Only: query.Get("only") != ""}
	if view.Kind != "agent" {
		view.Kind = "workflow"
	}
	view.Swap = with(r, "left", view.Right)
	view.Swap.Set("right", view.Left)
	view.OnlyHref = without(r, "only")
	if !view.Only {
		view.OnlyHref = with(r, "only", "differences")
	}
	var err error
	if view.Kind == "agent" {
		err = h.compareAgents(r, view)
	} else {
		err = h.compareRuns(r, view)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	live := anyRun
	if len(view.Both) == 2 {
		live = view.Left + " " + view.Right
	}
	h.show(w, r, http.StatusOK, "compare.html", page{Title: "Compare", At: "runs", Live: live, View: view})
}

// keyOf parses a run in the query.
func keyOf(text string) state.Key {
	workflow, run, _ := strings.Cut(text, "/")
	return state.Key{Workflow: workflow, Run: run}
}

func (h *Hub) compareRuns(r *http.Request, view *compareView) error {
	ctx := r.Context()
	left, right := keyOf(view.Left), keyOf(view.Right)
	list, err := h.options.Think.StateList(ctx, think.StateListInput{Workflow: cmp.Or(left.Workflow, right.Workflow), Limit: runsPage})
	if err != nil {
		return err
	}
	for _, each := range list.Runs {
		view.Choices = append(view.Choices, choice{each.Workflow + "/" + each.Run, h.options.Standings.Standing(ctx, each).String(), each.Updated})
	}
	if view.Left == "" || view.Right == "" {
		return nil
	}
	var stands [2]Standing
	for i, key := range []state.Key{left, right} {
		if key.Run == "" {
			return fault.New(fault.InvalidParams, "%q: expected WORKFLOW/RUN", fault.Cut(key.Workflow, 100))
		}
		info, err := h.infoOf(ctx, key)
		if err != nil {
			return err
		}
		stands[i] = h.options.Standings.Standing(ctx, info)
		view.Both = append(view.Both, comparedRun{Name: key.Run, Href: runPath(key), Status: stands[i].Status})
	}
	if left.Workflow != right.Workflow {
		view.Problem = "these runs have different workflows: steps are paired by their names"
	}
	changes, err := audit.New(h.options.Think).Between(ctx, audit.At{Key: left}, audit.At{Key: right})
	if err != nil {
		return err
	}
	view.Changes = &changesView{Shown: true, Before: left.Run, After: right.Run}
	h.fillChanges(r, view.Changes, changes, view.Only)
	view.fact("Status", stands[0].String(), stands[1].String())
	return h.addFacts(r, view, changes)
}

// addFacts adds the facts of both runs, and the duration of each shown step.
func (h *Hub) addFacts(r *http.Request, view *compareView, changes *audit.Changes) error {
	sides := []audit.Side{changes.From, changes.To}
	var took, began [2]string
	var tokens [2]usage
	if err := h.index.Refresh(); err != nil {
		return err
	}
	for i, side := range sides {
		var uses map[string]usage
		uses, tokens[i] = h.tokensOf(side.Key)
		both, err := h.eventsAt(r.Context(), side.Key, []int{1, side.Version})
		if err != nil {
			return err
		}
		began[i], took[i] = when(both[1].Time), between(both, 1, side.Version)
		if err := h.fillSide(r, view.Changes.Steps, side, i == 0, uses); err != nil {
			return err
		}
	}
	view.fact("Version", "v"+strconv.Itoa(sides[0].Version), "v"+strconv.Itoa(sides[1].Version))
	view.fact("Digest of the workflow", short(sides[0].Digest), short(sides[1].Digest))
	view.fact("State hash", short(sides[0].Hash), short(sides[1].Hash))
	view.fact("Began", began[0], began[1])
	view.fact("Took", took[0], took[1])
	view.fact("Tokens in → out", tokens[0].String(), tokens[1].String())
	one, _ := h.value(jsonvalue.Encoded(sides[0].Params), captureShown)
	other, _ := h.value(jsonvalue.Encoded(sides[1].Params), captureShown)
	view.fact("Parameters", one, other)
	return nil
}

func (v *compareView) fact(name, left, right string) {
	v.Facts = append(v.Facts, comparedFact{name, left, right, left == right})
}

// usage is the number of input and output tokens.
type usage struct{ in, out int }

func (u usage) plus(other usage) usage { return usage{u.in + other.in, u.out + other.out} }

func (u usage) String() string {
	if u == (usage{}) {
		return "none recorded"
	}
	return strconv.Itoa(u.in) + " → " + strconv.Itoa(u.out)
}

// tokensOf sums the tokens of a run's model calls, by step and in all, from the trace.
func (h *Hub) tokensOf(run state.Key) (uses map[string]usage, all usage) {
	uses = map[string]usage{}
	for _, each := range h.index.Calls(run.Workflow, run.Run) {
		call := usage{each.PromptTokens, each.OutputTokens}
		uses[each.Step], all = uses[each.Step].plus(call), all.plus(call)
	}
	return uses, all
}

// fillSide adds the durations and tokens of the shown steps in one of the runs.
func (h *Hub) fillSide(r *http.Request, rows []stepChange, side audit.Side, before bool, uses map[string]usage) error {
	spans := map[string][2]int{}
	var versions []int
	err := h.options.Think.View(r.Context(), side.Key, side.Version, func(v *think.View) error {
		for _, row := range rows {
			step, err := v.Step(row.ID)
			if err != nil {
				continue // the other run alone has it
			}
			if answers := step.Answers(); len(answers) > 0 {
				spans[row.ID] = [2]int{step.IssuedAt(), answers[len(answers)-1]}
				versions = append(versions, spans[row.ID][0], spans[row.ID][1])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(versions)
	events, err := h.eventsAt(r.Context(), side.Key, slices.DeleteFunc(slices.Compact(versions), func(v int) bool { return v == 0 }))
	if err != nil {
		return err
	}
	for i := range rows {
		at := rows[i].After
		if before {
			at = rows[i].Before
		}
		if at != nil {
			span := spans[rows[i].ID]
			at.Took = between(events, span[0], span[1])
			at.PromptTokens, at.OutputTokens = uses[rows[i].ID].in, uses[rows[i].ID].out
		}
	}
	return nil
}

func (h *Hub) compareAgents(r *http.Request, view *compareView) error {
	list, err := h.options.Agent.List(r.Context())
	if err != nil {
		return err
	}
	goal := ""
	for _, each := range list {
		if each.RunID == view.Left || each.RunID == view.Right {
			goal = each.Goal
		}
	}
	for _, each := range list {
		if len(view.Choices) < runsPage && (goal == "" || each.Goal == goal) {
			label := string(each.Status)
			if each.Goal != "" {
				label += ", " + each.Goal
			}
			view.Choices = append(view.Choices, choice{each.RunID, label, each.Updated})
		}
	}
	if view.Left == "" || view.Right == "" {
		return nil
	}
	var sides [2]agent.Report
	for i, run := range []string{view.Left, view.Right} {
		if sides[i], err = h.options.Agent.Report(run); err != nil {
			return err
		}
		view.Both = append(view.Both, comparedRun{Name: run, Href: "/diagnostics/agents/" + url.PathEscape(run), Status: string(sides[i].Status)})
	}
	view.addAgentFacts(sides)
	h.addAgentSteps(r, view, sides)
	return nil
}

func (v *compareView) addAgentFacts(sides [2]agent.Report) {
	duration := func(report agent.Report) string {
		sum := 0.0
		for _, step := range report.Transcript {
			for _, call := range step.Calls {
				sum += call.DurationMS
			}
		}
		return telemetry.Elapsed(sum)
	}
	if v.fact("Goal", sides[0].Goal, sides[1].Goal); sides[0].Goal != sides[1].Goal {
		v.Problem = "these runs have different goals"
	}
	v.fact("Status", string(sides[0].Status), string(sides[1].Status))
	v.fact("Steps", strconv.Itoa(sides[0].Steps), strconv.Itoa(sides[1].Steps))
	v.fact("Model", sides[0].Model, sides[1].Model)
	v.fact("Tokens in → out", usage{sides[0].PromptTokens, sides[0].OutputTokens}.String(), usage{sides[1].PromptTokens, sides[1].OutputTokens}.String())
	v.fact("Time in tools", duration(sides[0]), duration(sides[1]))
	v.fact("Cost", sides[0].Describe(amount), sides[1].Describe(amount))
	v.fact("Answer", fault.Cut(sides[0].Final, panelShown), fault.Cut(sides[1].Final, panelShown))
}

// addAgentSteps pairs the steps of two runs of the agent by number.
func (h *Hub) addAgentSteps(r *http.Request, view *compareView, sides [2]agent.Report) {
	count := max(len(sides[0].Transcript), len(sides[1].Transcript))
	var rows []comparedStep
	for i := range count {
		row := comparedStep{Index: i + 1, Left: h.agentStep(sides[0], i), Right: h.agentStep(sides[1], i)}
		if row.Left != nil && row.Right != nil {
			one, other := *row.Left, *row.Right
			one.Took, other.Took = "", ""
			row.Same = one == other
		}
		if !view.Only || !row.Same {
			rows = append(rows, row)
		}
	}
	from, to, pager := paged(r, "changed", len(rows), agentsPage, 0)
	view.Agents, view.AgentPager = rows[from:to], pager
}

func (h *Hub) agentStep(report agent.Report, at int) *agentStep {
	if at >= len(report.Transcript) {
		return nil
	}
	step := report.Transcript[at]
	out := &agentStep{Action: step.Action, Error: step.Error, Output: fault.Cut(step.Final, captureShown)}
	for _, call := range step.Calls {
		out.Tool = strings.TrimPrefix(out.Tool+", "+call.Tool, ", ")
		args, _ := h.value(call.Args, captureShown)
		output, _ := h.value(call.Output, captureShown)
		out.Args, out.Output = strings.TrimPrefix(out.Args+"\n"+args, "\n"), strings.TrimPrefix(out.Output+"\n"+output, "\n")
		if call.Error != nil {
			out.Error = call.Error.Error()
		}
		out.Took = telemetry.Elapsed(call.DurationMS)
	}
	return out
}
