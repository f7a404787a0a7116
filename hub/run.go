package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"savant/fault"
	"savant/internal/access"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/flow"
	"savant/think/maintenance"
	"savant/think/state"
)

// How many steps, captures and records a page lists, and how much of a capture it
// shows.
const (
	stepsPage    = 100
	capturesPage = 30
	recordsPage  = 50
	captureShown = 400
)

// runView is the page of a run of a workflow: the whole run, and its state at the
// requested version.
type runView struct {
	state.Info
	Standing    Standing
	Damage      string // why the state cannot be shown
	Because     string
	Release     string
	Drift       bool
	Missing     bool // no workflow of its name exists
	Ended       *endedView
	Imported    int
	Began       string
	Params      string
	Checkpoints []state.CheckpointInfo
	ForkRun     string
	Successor   string // the latest fork of a run that did not end well
	ForkVersion int
	Moment      *moment // nil if the state cannot be shown
	Changes     *changesView
	History     []think.Event
	Pager       pager
	HistoryOpen bool
	Questions   []questionView
	More        int // questions that are not shown
	Approvals   []think.ScopedApproval
	Refused     []refusedCall // by rules
	NoAnswers   string        // why questions cannot be answered here
	Acts        actsView
	Next        nextView
}

// endedView is the report of an ended run.
type endedView struct {
	Outcome, Summary, Outputs string
	Artifacts                 []capture
	Short                     bool // the outputs are shown without a click
}

// shortOutputs is the maximum size of outputs shown without a click, in bytes.
const shortOutputs = 1 << 10

// moment is a run at one of its versions.
type moment struct {
	Version, Latest          int
	Past                     bool        // it is not the latest
	Standing                 Standing    // of an earlier version only the status is known
	Record                   think.Event // the record of the version
	Earlier, Later, Present  url.Values
	Kept                     []formField // query parameters that the slider's form keeps
	Drawing                  *drawing
	Waterfall                *waterfall
	Panel                    *panel
	Asked                    bool   // the panel shows a step that was chosen
	Unasked                  string // why the panel shows a step by default
	Filter                   stepFilter
	Steps                    []flow.StepStatus
	StepPager                pager
	Captures                 []capture
	CapturePager             pager
	CapturesOpen             bool
	StepHref                 url.Values // link to a step's panel, without its id
	FirstIssued, FirstFailed string
	ForModel                 bool              // each step that is issued is for a model
	Blocked                  string            // the step at which the run is blocked
	Failed                   []flow.StepStatus // the first of them
	Answered                 string            // the first that failed by an answer
}

// formField is a hidden field of a form.
type formField struct{ Name, Value string }

// stepFilter selects the listed steps.
type stepFilter struct{ Query, Status string }

// capture is a capture as shown on the page.
type capture struct {
	Name, Text string
	Size       int // in bytes
	Cut        bool
	At         string     // the address that sends all of it
	Whole      url.Values // and its query
}

func (h *Hub) showRun(w http.ResponseWriter, r *http.Request) {
	view, err := h.runPage(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	key := runOf(r)
	view.Questions, view.More = h.shownQuestions(r, key)
	var shown []*about
	for i := range view.Questions {
		shown = append(shown, &view.Questions[i].about)
	}
	fit(shown)
	view.Acts = h.acts(r, view.Info, view.Standing, view.Drift)
	view.Approvals, view.Refused = h.approvalsOf(r.Context(), key), h.refusedIn(key)
	h.next(r, view)
	err = h.allowed(r, access.Approve)
	if err == nil {
		err = h.answerable(r.Context(), key)
	}
	if err != nil {
		view.NoAnswers = fault.From(err).Details
	}
	h.show(w, r, refusalOf(r).status(), "run.html", page{Title: view.Run, At: "runs", Live: key.Workflow + "/" + key.Run, View: view})
}

// runPage reads the page of a run, which also reports damage. The errors are
// UNKNOWN_RUN, and CHECKPOINT_NOT_FOUND for an unknown version.
func (h *Hub) runPage(r *http.Request) (*runView, error) {
	ctx, key := r.Context(), runOf(r)
	info, err := h.infoOf(ctx, key)
	if err != nil {
		return nil, err
	}
	view := &runView{Info: info, Standing: h.options.Standings.Standing(ctx, info)}
	// An empty page of the state: it contains only what concerns the whole run.
	found, err := h.options.Think.StateGet(ctx, think.StateGetInput{Workflow: key.Workflow, RunID: key.Run, Section: "history", After: strconv.Itoa(info.Version)})
	if err == nil {
		h.fillRun(view, found)
		view.Successor = h.successorOf(ctx, info)
		view.Moment, err = h.momentOf(r, key, view)
	}
	if err == nil {
		view.Changes, err = h.changesOf(r, key, view.Version)
	}
	if errors.Is(err, fault.CheckpointNotFound) {
		return nil, err
	} else if err != nil {
		view.Damage = damageOf(err)
	}
	// The history needs no replay, so even a damaged run can have one.
	if err := h.fillHistory(r, view, key); err != nil && view.Damage == "" {
		view.Damage = damageOf(err)
	}
	return view, nil
}

// damageOf describes an error with its code, and what to do about a damaged run.
func damageOf(err error) string {
	failure := fault.From(err)
	return failure.Hinted(maintenance.OnDamage(failure)).Error()
}

// fillRun adds what concerns the whole run.
func (h *Hub) fillRun(view *runView, found *think.StateGet) {
	whole := found.Snapshot
	view.Version, view.Release, view.Drift, view.Imported = whole.Version, whole.Release, found.Drift, found.Imported
	view.Checkpoints = found.Checkpoints
	if whole.Error != nil {
		view.Because = whole.Error.Error()
	} else if whole.Cancelled != nil {
		view.Because = whole.Cancelled.String()
	}
	if found.Lineage != nil {
		view.ForkRun, view.ForkVersion = found.Lineage.Run, found.Lineage.Version
	}
	view.Params = h.indented(whole.Params)
	view.Missing = !slices.Contains(h.options.Think.Library.Names(), view.Workflow)
}

// fillHistory adds a page of a run's records.
func (h *Hub) fillHistory(r *http.Request, view *runView, key state.Key) error {
	from, to, pager := pagedBack(r, "records", view.Version, recordsPage)
	events, err := h.events(r.Context(), key, from, to-from)
	if err != nil {
		return err
	}
	view.History, view.Pager = events, pager
	view.HistoryOpen = r.URL.Query().Has("records") || r.URL.Query().Has("from")
	first, err := h.events(r.Context(), key, 0, 1)
	if err == nil && len(first) > 0 {
		view.Began = first[0].Time
	}
	return err
}

// events describes the records of a run after a version.
func (h *Hub) events(ctx context.Context, key state.Key, after, count int) ([]think.Event, error) {
	records, err := h.options.Think.Store.Records(ctx, key, after, count)
	if err != nil {
		return nil, err
	}
	events, _, err := h.options.Think.Events(ctx, key, records)
	return events, err
}

// momentOf reads a run at the requested version. For the latest one it sets the end in
// view.
func (h *Hub) momentOf(r *http.Request, key state.Key, view *runView) (*moment, error) {
	ctx, query := r.Context(), r.URL.Query()
	version, _ := strconv.Atoi(query.Get("version"))
	out := &moment{Asked: query.Get("step") != "", Filter: stepFilter{query.Get("q"), query.Get("status")}, StepHref: without(r, "step")}
	var scene *scene
	err := h.options.Think.View(ctx, key, version, func(v *think.View) error {
		now := v.Now()
		out.ForModel = len(now.Instructions) > 0 && !slices.ContainsFunc(now.Instructions, func(next flow.Instruction) bool { return next.Call != flow.CallGenerate })
		out.Version, out.Standing.Status = now.Version, string(now.Status)
		out.listSteps(r, v)
		err := h.listCaptures(r, v, out)
		if err == nil {
			scene, err = sceneOf(r, v)
		}
		if err == nil {
			if now.Blocked != nil && len(view.Standing.Steps) > 0 {
				out.markBlocked(view.Standing.Steps[0])
			}
			out.Panel, err = h.panelOf(r, v, out.stepToShow(r, now, view.Standing.Steps))
		}
		if now.Final != nil {
			view.Ended = h.endedOf(now.Final)
			view.Ended.Artifacts = artifactsOf(now.Final, key, now.Version)
			if now.Final.Outcome == string(flow.Cancelled) {
				view.Because = "" // the summary says by whom, and why
			}
		}
		if out.Panel != nil && out.Panel.ID == out.Blocked {
			out.Panel.Status, out.Panel.Cause = string(flow.Blocked), view.Because
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	latest, _, err := h.options.Think.Store.Head(ctx, key)
	if err != nil {
		return nil, err
	}
	out.place(r, latest)
	if !out.Past {
		out.Standing = Standing{Status: view.Standing.Status, WaitsFor: view.Standing.WaitsFor}
	}
	a := h.artist(r, scene, out.Blocked)
	events, err := h.eventsAt(ctx, key, a.versions(scene, out.Version, out.Panel))
	if err != nil {
		return nil, err
	}
	out.Record = events[out.Version]
	out.Panel.fillTimes(events)
	if err := cmp.Or(out.Panel.addModels(ctx, h, key), out.Panel.addInput(ctx, h, key)); err != nil {
		return nil, err
	}
	a.events = events
	out.Waterfall = a.waterfall(scene, out.end(view, events))
	out.Drawing = a.drawing(scene)
	return out, nil
}

// end is until when steps that are not answered are drawn: now, or the version's record.
func (m *moment) end(view *runView, events map[int]think.Event) time.Time {
	if m.Past || hasEnded(view.Standing.Status) {
		return timeOf(events, m.Version)
	}
	return time.Now()
}

// markBlocked gives the step at which the run is blocked its status.
func (m *moment) markBlocked(id string) {
	m.Blocked = id
	for i, step := range m.Steps {
		if step.ID == id {
			m.Steps[i].Status = flow.Blocked
		}
	}
}

// stepToShow returns the step for the panel: the requested one, else the step at which
// the run stands or has failed, or "". at are the current steps of the latest version.
func (m *moment) stepToShow(r *http.Request, now flow.Outcome, at []string) string {
	if asked := r.URL.Query().Get("step"); asked != "" {
		return asked
	}
	switch {
	case now.Blocked != nil && len(at) > 0:
		m.Unasked = "The run is blocked at this step."
		return at[0]
	case m.FirstFailed != "":
		m.Unasked = "This step failed."
		return m.FirstFailed
	case m.FirstIssued != "":
		m.Unasked = "The run is at this step."
		return m.FirstIssued
	}
	return ""
}

// endedOf is the report of a run for its page.
func (h *Hub) endedOf(final *flow.Final) *endedView {
	out := &endedView{Outcome: final.Outcome, Summary: final.End()}
	if len(final.Outputs) > 0 {
		var cut bool
		if out.Outputs, cut = h.value(jsonvalue.Encoded(final.Outputs), panelShown); out.Outputs == "" && cut {
			out.Outputs = "too long to be shown; the captures have its parts"
		}
		out.Short = len(out.Outputs) <= shortOutputs
	}
	return out
}

// place sets the version's position among the run's versions.
func (m *moment) place(r *http.Request, latest int) {
	m.Latest, m.Past = latest, m.Version < latest
	if m.Version > 1 {
		m.Earlier = with(r, "version", strconv.Itoa(m.Version-1))
	}
	if m.Past {
		m.Present = without(r, "version")
		m.Later = with(r, "version", strconv.Itoa(m.Version+1))
	}
	for _, name := range []string{"step", "open", "graph", "q", "status"} {
		for _, value := range r.URL.Query()[name] {
			m.Kept = append(m.Kept, formField{name, value})
		}
	}
}

// listSteps adds the page of the filtered steps.
func (m *moment) listSteps(r *http.Request, v *think.View) {
	var fit flow.Statuses
	for step := range v.Steps() {
		switch {
		case m.FirstIssued == "" && step.Status == flow.Issued:
			m.FirstIssued = step.ID
		case m.FirstFailed == "" && step.Status == flow.Failed:
			m.FirstFailed = step.ID
		}
		if step.Status == flow.Failed && len(m.Failed) < maxReasons {
			m.Failed = append(m.Failed, step)
		}
		if step.Status == flow.Failed && m.Answered == "" {
			if handle, err := v.Step(step.ID); err == nil && len(handle.Answers()) > 0 {
				m.Answered = step.ID
			}
		}
		if (m.Filter.Status == "" || m.Filter.Status == string(step.Status)) && contains(m.Filter.Query, step.ID, step.Cause, step.Code) {
			fit = append(fit, step)
		}
	}
	from, to, pager := paged(r, "steps", len(fit), roomFor(r, stepsPage), 0)
	m.Steps, m.StepPager = slices.Clone(fit[from:to]), pager
}

// listCaptures adds a page of the captures; long ones are truncated.
func (h *Hub) listCaptures(r *http.Request, v *think.View, m *moment) error {
	var names []string
	values := map[string]any{}
	for name, value := range v.Vars(captureShown) {
		names = append(names, name)
		values[name] = value
	}
	from, to, pager := paged(r, "captures", len(names), capturesPage, 0)
	m.CapturePager, m.CapturesOpen = pager, r.URL.Query().Has("captures")
	for _, name := range names[from:to] {
		shown, err := h.captureOf(r.Context(), v, runOf(r), name, values[name], captureShown)
		if err != nil {
			return err
		}
		m.Captures = append(m.Captures, shown)
	}
	return nil
}

// captureOf returns a capture for the page, truncated; value is its entry in the run's
// list of captures.
func (h *Hub) captureOf(ctx context.Context, v *think.View, key state.Key, name string, value any, most int) (capture, error) {
	out := capture{Name: name}
	out.whole(key, "capture", name, v.Now().Version)
	if long, is := value.(flow.Long); is && long.Size > tooLarge {
		out.Size, out.Cut = long.Size, true
		return out, nil
	}
	raw, err := v.Capture(ctx, name)
	if err != nil {
		return out, err
	}
	out.Size = len(raw)
	out.Text, out.Cut = h.value(raw, most)
	return out, nil
}

// tooLarge is the maximum size of a value that is shown in part, in bytes: redaction
// must read the whole of it.
const tooLarge = 256 << 10

// value formats JSON for people, redacted and truncated.
func (h *Hub) value(raw json.RawMessage, most int) (text string, cut bool) {
	if len(raw) > tooLarge {
		return "", true
	}
	text = h.indented(raw)
	return fault.Cut(text, most), len(text) > most
}
