package hub

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"savant/agent"
	"savant/engines"
	"savant/engines/workflow"
	"savant/fault"
	"savant/internal/access"
	"savant/telemetry"
	"savant/think"
	"savant/think/audit"
	"savant/think/flow"
	"savant/think/state"
)

// What a page says after a change. The address holds only the key, so that a link
// cannot make a page show any other text.
var said = map[string]string{
	"answered":    "The answer is recorded.",
	"revoked":     "The approval covers no more calls.",
	"started":     "The run has begun.",
	"goes-on":     "The run continues here.",
	"forked":      "This run begins with the answers of the one it was forked from.",
	"reset":       "The run is back at the version you chose. Nothing was erased.",
	"resumed":     "The run continues here.",
	"canceled":    "The run was asked to end.",
	"ended":       "The run is cancelled. A fork begins a new one with its answers.",
	"imported":    "The run was imported. Savant here did not see its witnesses and approvals.",
	"cancel-runs": "The runs are cancelled. A fork begins a new one with the answers of each.",
	"delete-runs": "The runs are in the trash: savant state restore brings one back.",
	"existed":     "This run is already here, identical.",
}

func runPath(key state.Key) string {
	return "/runs/" + url.PathEscape(key.Workflow) + "/" + url.PathEscape(key.Run)
}

// done redirects to a page that says what was done.
func (h *Hub) done(w http.ResponseWriter, r *http.Request, path, what string) {
	http.Redirect(w, r, path+"?said="+what, http.StatusSeeOther)
}

// blockedRun returns the run that an error says is blocked, "" for another error.
func blockedRun(err error) string {
	var blocked think.Blocked
	_ = errors.As(err, &blocked)
	return blocked.Run
}

// finish redirects to a page that says what was done, or shows a page again with why it was
// not. A run that is blocked by it says so on its page.
func (h *Hub) finish(w http.ResponseWriter, r *http.Request, err error, again http.HandlerFunc, path, what string) {
	if err != nil && blockedRun(err) == "" {
		h.again(w, r, err, nil, again)
		return
	}
	h.done(w, r, path, what)
}

// actsView are the actions that the page of a run offers.
type actsView struct {
	GoOn, Fork, Reset, Cancel bool
	Ended                     bool
	Waits                     bool // for somebody who continues it elsewhere
	Drift                     bool
	// Why is why no action is possible, Lacks which actions the token's scopes exclude.
	Why   string
	Lacks []string
	Act   string     // the form that was refused
	Sent  url.Values // what was filled in there
}

// errReadOnly refuses changes in a read-only hub.
func errReadOnly() error {
	return fault.New(fault.ToolDenied, "this hub is read-only: it was started with --read-only")
}

// changeable returns why a run must not be changed here: STATE_CONFLICT if another
// process drives it, TOOL_DENIED if it was imported.
func (h *Hub) changeable(ctx context.Context, key state.Key) (state.Info, error) {
	info, err := h.infoOf(ctx, key)
	if err != nil {
		return info, err
	}
	imported, err := h.options.Think.Imports.Imported(ctx, key)
	if err == nil && imported == info.Version {
		err = fault.New(fault.ToolDenied, "run %s was imported and is read-only here: savant approve %[1]s answers it at a terminal, savant state fork %[1]s starts your own run with its answers", key.Run)
	}
	return info, err
}

// acts returns the actions that a run allows.
func (h *Hub) acts(r *http.Request, info state.Info, standing Standing, drift bool) actsView {
	if h.options.ReadOnly {
		return actsView{Why: errReadOnly().Error()}
	}
	if _, err := h.changeable(r.Context(), info.Key()); err != nil {
		return actsView{Why: fault.From(err).Details}
	}
	driven := h.options.Standings.Driven(info.Key())
	ended := hasEnded(standing.Status)
	cancelled := standing.Status == "cancelled"
	refused := refusalOf(r)
	view := actsView{Act: refused.act, Sent: refused.sent, Fork: true, Reset: !driven && !cancelled, Cancel: !ended, GoOn: !driven && !ended && standing.Status != "blocked" && standing.WaitsFor != "person", Ended: ended,
		Waits: !driven && !ended && standing.Status != "blocked", Drift: drift}
	if err := h.allowed(r, access.Guide); err != nil {
		view.Fork, view.Reset, view.Cancel = false, false, false
		view.Lacks = append(view.Lacks, fault.From(err).Details+", so it cannot fork, reset or cancel this run")
	}
	if err := h.allowed(r, access.Run); err != nil && view.GoOn {
		view.GoOn = false
		view.Lacks = append(view.Lacks, fault.From(err).Details+", so it cannot continue this run here")
	}
	return view
}

// hasEnded reports whether a status is a final one.
func hasEnded(status string) bool {
	return slices.Contains([]string{string(flow.Done), string(flow.Failed), string(flow.Cancelled)}, status)
}

// goOn continues a run that was started here, once a person has answered it.
func (h *Hub) goOn(key state.Key) {
	h.mu.Lock()
	started := h.started[key]
	h.mu.Unlock()
	if started {
		h.drive(key)
	}
}

// drive drives a run until it ends, waits for a model or a tool, or the hub ends. After
// a question to a person it continues with the answer, wherever that was given.
func (h *Hub) drive(key state.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started[key] = true
	if h.driving[key] {
		return
	}
	h.driving[key] = true
	h.work.Go(func() {
		err := h.driveToEnd(key)
		h.mu.Lock()
		delete(h.driving, key)
		h.mu.Unlock()
		if err != nil && h.ctx.Err() == nil {
			h.options.Logger.WarnContext(h.ctx, "the hub drives a run no further", "workflow", key.Workflow, "run", key.Run, "error", err)
		}
	})
}

func (h *Hub) driveToEnd(key state.Key) error {
	h.stop(key, nil)
	for {
		outcome, err := h.options.Driver.Run(h.ctx, engines.Call{}, workflow.Request{Workflow: key.Workflow, RunID: key.Run}, nil)
		if err != nil || outcome.Pending == nil {
			return err
		}
		if outcome.Pending.For != workflow.ForPerson {
			h.stop(key, outcome.Pending)
			return nil
		}
		if err := h.options.Think.AwaitStep(h.ctx, key.Workflow, key.Run, outcome.Pending.StepID); err != nil {
			return err
		}
	}
}

// driveRun continues a run without a driver.
func (h *Hub) driveRun(w http.ResponseWriter, r *http.Request) {
	key := runOf(r)
	info, err := h.changeable(r.Context(), key)
	switch {
	case err != nil:
	case hasEnded(info.Status):
		err = fault.New(fault.InvalidTransition, "run %s is %s: there is nothing to continue", key.Run, info.Status)
	case h.options.Standings.Driven(key):
		err = fault.New(fault.StateConflict, "run %s is already running", key.Run)
	}
	if err == nil {
		h.drive(key)
	}
	h.finish(w, r, err, h.showRun, runPath(key), "goes-on")
}

func runOf(r *http.Request) state.Key {
	return state.Key{Workflow: r.PathValue("workflow"), Run: r.PathValue("run")}
}

// forkRun starts a run with the answers of another one, as savant state fork.
func (h *Hub) forkRun(w http.ResponseWriter, r *http.Request) {
	key := runOf(r)
	fork, err := h.forked(r, key)
	if err == nil && r.PostFormValue("again") != "" && h.allowed(r, access.Run) == nil {
		h.drive(fork)
	}
	h.finish(w, r, err, h.showRun, runPath(fork), "forked")
}

func (h *Hub) forked(r *http.Request, key state.Key) (fork state.Key, err error) {
	if _, err := h.changeable(r.Context(), key); err != nil {
		return fork, err
	}
	out, err := h.audit.Debug(r.Context(), audit.DebugInput{Action: "fork", Caller: visitorFrom(r).person(), Workflow: key.Workflow, RunID: key.Run,
		FromStep: r.PostFormValue("from"), NewRunID: r.PostFormValue("new"), Adopt: r.PostFormValue("adopt") != ""})
	switch blocked := blockedRun(err); {
	case blocked != "":
		return state.Key{Workflow: key.Workflow, Run: blocked}, nil
	case err != nil:
		return fork, err
	case out.Difference != nil:
		return fork, fault.New(fault.StateConflict, "nothing was started: at v%d the answers lead to other steps under the present file. Recorded: %s. Now: %s. Fork from v%d or earlier to leave these answers behind",
			out.Difference.Version, fault.Cut(out.Difference.Recorded, 400), fault.Cut(out.Difference.Replayed, 400), max(1, out.Difference.Version-1))
	}
	return state.Key{Workflow: key.Workflow, Run: out.Reply.State.RunID}, nil
}

// resetRun resets a run, as savant state reset.
func (h *Hub) resetRun(w http.ResponseWriter, r *http.Request) {
	key := runOf(r)
	_, err := h.changeable(r.Context(), key)
	if err == nil && h.options.Standings.Driven(key) {
		err = fault.New(fault.StateConflict, "another process drives run %s: end that process first", key.Run)
	}
	to := r.PostFormValue("to")
	if err == nil && to == "" { // a reset without a checkpoint deletes the run
		err = fault.New(fault.InvalidParams, "to is missing: a version such as v3, a step (before its answer), a named checkpoint, or start")
	}
	if err == nil {
		_, err = h.options.Think.Reset(r.Context(), think.ResetInput{Caller: visitorFrom(r).person(), Workflow: key.Workflow, RunID: key.Run, Checkpoint: to, Force: r.PostFormValue("force") != ""})
		if errors.Is(err, fault.ResetNotAllowed) {
			err = fault.New(fault.ResetNotAllowed, "run %s has ended: tick \"although it has ended\" to reset it", key.Run)
		}
	}
	h.finish(w, r, err, h.showRun, runPath(key), "reset")
}

// cancelRun cancels a run, as savant state cancel.
func (h *Hub) cancelRun(w http.ResponseWriter, r *http.Request) {
	key := runOf(r)
	_, err := h.changeable(r.Context(), key)
	if err == nil {
		err = h.cancel(r, key)
	}
	h.finish(w, r, err, h.showRun, runPath(key), "ended")
}

// cancel cancels a run for the reason in a request's form.
func (h *Hub) cancel(r *http.Request, key state.Key) error {
	_, err := h.options.Think.Cancel(r.Context(), think.CancelInput{Workflow: key.Workflow, RunID: key.Run,
		Cancellation: flow.Cancellation{By: cmp.Or(visitorFrom(r).Name, h.options.Person), Reason: r.PostFormValue("reason")}})
	return err
}

// resumeAgent continues a run of the agent, with its goal or with a new one.
func (h *Hub) resumeAgent(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("run")
	who := visitorFrom(r).person()
	err := h.options.Agent.GoOn(r.Context(), agent.Order{RunID: id, Goal: r.PostFormValue("goal"), Who: telemetry.WhoIs(who.Name, "")})
	h.finish(w, r, err, h.showAgent, "/diagnostics/agents/"+url.PathEscape(id), "resumed")
}

// startRun starts a run of a workflow with the values of a form: driven here, or for a
// client to follow.
func (h *Hub) startRun(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	starting, err := h.startForm(r.Context(), name)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	starting.Run, starting.Guided = r.PostFormValue("run_id"), r.PostFormValue("how") == "guided"
	filled, ok := starting.read(r.PostForm)
	if _, err := h.infoOf(r.Context(), state.Key{Workflow: plain(name), Run: starting.Run}); err == nil {
		starting.Problem, ok = "There is already a run of this name. Choose another, or leave the name empty.", false
	}
	if ok {
		answer, _ := starting.form.Answer(filled)
		params, _ := answer.(map[string]any)
		reply, err := h.options.Think.Plan(r.Context(),
			think.PlanInput{Workflow: name, Params: params, RunID: starting.Run, Driven: !starting.Guided, Caller: visitorFrom(r).person()})
		key := state.Key{Workflow: plain(name), Run: blockedRun(err)}
		if err == nil {
			key.Run = reply.State.RunID
			if !starting.Guided {
				h.drive(key)
			}
		}
		if key.Run != "" {
			h.done(w, r, runPath(key), "started")
			return
		}
		if !errors.Is(err, fault.InvalidParams) {
			h.again(w, r, err, starting.startView, h.showWorkflow)
			return
		}
		starting.place(fault.From(err), paramOf, &starting.Problem)
	}
	h.again(w, r, nil, starting.startView, h.showWorkflow)
}

// plain is the name of a workflow without its version.
func plain(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return name
}

// verifyView is the verdict on a run, as of savant verify.
type verifyView struct {
	Workflow, Run, Verdict string
	Records, Imported      int
	Difference             *think.Difference
	Damage                 string // why the run cannot be verified
	Witnesses              []statusCount
}

// verifyRun recomputes every state of a run and compares it with its record.
func (h *Hub) verifyRun(w http.ResponseWriter, r *http.Request) {
	key := runOf(r)
	if _, err := h.infoOf(r.Context(), key); err != nil {
		h.fail(w, r, err)
		return
	}
	view := verifyView{Workflow: key.Workflow, Run: key.Run, Verdict: "cannot be verified"}
	out, err := h.audit.Debug(r.Context(), audit.DebugInput{Action: "replay", Workflow: key.Workflow, RunID: key.Run})
	if err != nil {
		view.Damage = damageOf(err)
	} else {
		view.Verdict, view.Records, view.Imported, view.Difference = out.Verdict, out.To, out.Imported, out.Difference
		view.Witnesses = witnessesOf(out.Log)
	}
	h.show(w, r, http.StatusOK, "verify.html", page{Title: "Verify " + key.Run, At: "runs", View: view})
}

// witnessesOf counts the results of a run by witness.
func witnessesOf(log []think.Event) []statusCount {
	counts := map[string]int{}
	for _, each := range log {
		switch {
		case each.Claimed:
			counts["claimed"]++
		case each.Witness != "":
			counts[each.Witness]++
		}
	}
	var out []statusCount
	for _, name := range []string{"gateway", "person", "self", "claimed"} {
		if counts[name] > 0 {
			out = append(out, statusCount{name, counts[name]})
		}
	}
	return out
}
