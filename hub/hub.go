// Package hub serves the web page of Savant: its runs, workflows and engines, the state
// of each run, and why it took its path. It reads through the same packages as the
// command line and stores nothing but the digests of sessions.
package hub

import (
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"savant/agent"
	"savant/engines"
	"savant/engines/workflow"
	"savant/fault"
	"savant/hub/events"
	"savant/internal/access"
	"savant/internal/redact"
	"savant/internal/webguard"
	"savant/telemetry"
	"savant/think"
	"savant/think/audit"
	"savant/think/maintenance"
	"savant/think/state"
)

// Options say what a hub shows and where it is served. All but Notifier are required.
type Options struct {
	// Address is the address to listen at, HOST:PORT: besides localhost, the only host
	// that requests may name.
	Address string
	// Folder is SAVANT_PATH, Version the program's version.
	Folder, Version string
	// URL is the address for browsers; empty: http:// and Address.
	URL string
	// Door holds the accepted tokens. Without any the hub serves only this machine.
	Door *access.Door
	// Sessions is a private folder outside of Folder for the digests of sessions;
	// empty: sessions end with the program.
	Sessions string
	// ReadOnly: the pages change nothing. NoAnswers: they take no person's answers.
	ReadOnly, NoAnswers bool
	// Person is recorded as who cancelled a run.
	Person string

	Think     *think.Engine
	Driver    *workflow.Driver
	Keeper    *maintenance.Keeper
	Agent     *agent.Runtime
	Tools     *engines.Registry
	Recorder  *telemetry.Recorder
	Redactor  *redact.Redactor
	Standings Standings
	Calls     Calls
	Sources   Sources // cases, packages and rules
	// Notifier is told of each question to a person; nil for none.
	Notifier Notifier
	// Logs is the absolute folder of the trace, Journals that of the runs, watched for
	// changes; Journals is empty if runs are in a database.
	Logs, Journals string
	Logger         *slog.Logger
}

// Standings returns the state of runs and deciders, for people.
type Standings interface {
	// Standing returns the state of a run of a workflow.
	Standing(ctx context.Context, run state.Info) Standing
	// Driven reports whether a process drives a run of a workflow now.
	Driven(run state.Key) bool
	// Deciders returns who decides for the agent.
	Deciders(ctx context.Context) []Decider
	// Unanswered counts the unanswered questions to deciders; queued is false without a
	// reachable queue.
	Unanswered(ctx context.Context) (count int, queued bool)
}

// Standing is the state of a run: its status, for whom it waits, and its current steps.
type Standing struct {
	Status, WaitsFor string
	Steps            []string
}

// String formats a standing: "waiting for a person at publish".
func (s Standing) String() string {
	text := s.Status
	if s.WaitsFor != "" {
		text += " for a " + s.WaitsFor
	}
	if len(s.Steps) > 0 {
		text += " at " + strings.Join(s.Steps, ", ")
	}
	return text
}

// Decider decides for the agent. Host is empty for this program; State is reachable,
// ready (this program), offline or denied, with the Reason.
type Decider struct {
	Name, About, Host, State, Reason string
}

// Hub serves the pages. It is safe for concurrent use.
type Hub struct {
	options Options
	gate    *gate
	pages   *template.Template
	index   *events.Index
	changes *changes
	scrape  *scrape
	audit   *audit.Auditor

	deciders probed

	ctx  context.Context // ends with the hub
	work sync.WaitGroup  // the runs that it drives
	mu   sync.Mutex
	// started are the runs that were started here; driving are those being driven now.
	started, driving map[state.Key]bool
	// stopped is why it went no further with a run.
	stopped map[state.Key]string
	// began has the origins of runs.
	began sync.Map
}

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var static embed.FS

// New returns a hub that works until ctx ends.
func New(ctx context.Context, options Options) (*Hub, error) {
	gate, err := newGate(options)
	if err != nil {
		return nil, err
	}
	pages, err := template.New("").Funcs(functions()).ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	scrape := newScrape()
	index := events.New(options.Recorder, scrape.counted.Count)
	h := &Hub{options: options, gate: gate, pages: pages, scrape: scrape, index: index, changes: watch(ctx, index, &journals{folder: options.Journals}, options.Logs, options.Logger),
		audit: audit.New(options.Think), ctx: ctx, started: map[state.Key]bool{}, driving: map[state.Key]bool{}, stopped: map[state.Key]string{}}
	if options.Notifier != nil {
		h.work.Go(func() { h.notices(ctx) })
	}
	return h, nil
}

// Wait returns when the hub drives no more runs, after the end of its context.
func (h *Hub) Wait() { h.work.Wait() }

// Link returns an address that opens the hub once: its first visitor gets a session.
func (h *Hub) Link() string { return h.gate.link() }

// Handler serves the pages. All but the public ones need a session.
func (h *Hub) Handler() http.Handler {
	inside := http.NewServeMux()
	inside.HandleFunc("GET /{$}", h.overview)
	inside.HandleFunc("GET /runs", h.listRuns)
	inside.HandleFunc("GET /runs/{workflow}/{run}", h.showRun)
	for _, form := range []string{"/runs/{workflow}/{run}/{act}", "/workflows/{name}/start", "/diagnostics/agents/{run}/cancel", "/diagnostics/agents/{run}/resume", "/calls/{question}/answer", "/tools/{tool}/call", importPath, chosenPath} {
		inside.HandleFunc("GET "+form, backTo)
	}
	inside.HandleFunc("POST /runs/{workflow}/{run}/verify", h.verifyRun)
	inside.HandleFunc("GET /runs/{workflow}/{run}/value", h.sendValue)
	inside.HandleFunc("GET /runs/{workflow}/{run}/exchange", h.sendExchange)
	inside.HandleFunc("GET /calls/{question}", h.sendCall)
	inside.HandleFunc("GET /compare", h.compare)
	inside.HandleFunc("GET /tools", h.listTools)
	inside.HandleFunc("GET /tools/{tool}", h.showTool)
	inside.HandleFunc("GET /numbers", h.showNumbers)
	inside.HandleFunc("GET /rules", h.showRules)
	inside.HandleFunc("GET /workflows", h.listWorkflows)
	inside.HandleFunc("GET /workflows/{name}", h.showWorkflow)
	inside.HandleFunc("GET /diagnostics/agents", h.listAgents)
	inside.HandleFunc("GET /diagnostics/agents/{run}", h.showAgent)
	inside.HandleFunc("GET /diagnostics/agents/{run}/rows", h.sendRows)
	inside.HandleFunc("GET /diagnostics/agents/{run}/event", h.sendEvent)
	inside.HandleFunc("GET /diagnostics/agents/{run}/exchange", h.sendExchange)
	inside.HandleFunc("GET /live", h.live)
	inside.HandleFunc("GET /metrics", h.metrics)
	inside.HandleFunc("GET /diagnostics/agents/{run}/trace.ndjson", h.downloadTrace)
	inside.HandleFunc("GET /diagnostics/agents/{run}/session.json", h.downloadSession)
	for path, change := range map[string]change{
		"/runs/{workflow}/{run}/answer": {approveScope, h.answerRun}, "/runs/{workflow}/{run}/revoke": {approveScope, h.revokeRun}, "/runs/{workflow}/{run}/go-on": {access.Run, h.driveRun},
		"/runs/{workflow}/{run}/fork": {access.Guide, h.forkRun}, "/runs/{workflow}/{run}/reset": {access.Guide, h.resetRun},
		"/runs/{workflow}/{run}/cancel": {access.Guide, h.cancelRun}, "/runs/{workflow}/{run}/export": {access.Guide, h.exportRun}, "/workflows/{name}/start": {access.Run, h.startRun},
		"/diagnostics/agents/{run}/cancel": {access.Run, h.cancelAgent}, "/diagnostics/agents/{run}/resume": {access.Run, h.resumeAgent},
		"/calls/{question}/answer": {approveScope, h.answerCall}, chosenPath: {access.Guide, h.changeRuns}, "/tools/{tool}/call": {access.Read, h.callTool},
	} {
		inside.HandleFunc("POST "+path, h.changing(change))
	}
	inside.HandleFunc("POST "+importPath, h.changing(change{access.Run, h.importRun}))
	inside.HandleFunc("POST /leave", h.leave)
	inside.HandleFunc("/", h.noPage)

	all := http.NewServeMux()
	all.HandleFunc("GET /healthz", h.health)
	if webguard.IsLoopback(h.options.Address) && h.options.URL == "" { // a local scraper has no session
		all.HandleFunc("GET /metrics", h.metrics)
	}
	all.HandleFunc("GET /enter", h.enter)
	all.HandleFunc("POST /enter", h.enterWithToken)
	all.HandleFunc("GET /static/{file}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, static, r.URL.Path[1:]) })
	all.Handle("/", h.gate.withSession(h.addressed(inside), h.closed, h.refuse))
	return h.gate.guarded(h.withoutPanic(all), h.refuse)
}

// approveScope is needed to answer what a person is asked.
const approveScope = access.Approve

// change is a handler that changes something, with the scope it requires.
type change struct {
	scope access.Scope
	do    http.HandlerFunc
}

// changing wraps a handler of changes with its checks.
func (h *Hub) changing(to change) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h.allowed(r, to.scope); err != nil {
			h.refuse(w, r, err)
			return
		}
		to.do(w, r)
	}
}

// allowed returns TOOL_DENIED if the visitor lacks a scope or the hub is read-only.
func (h *Hub) allowed(r *http.Request, scope access.Scope) error {
	switch {
	case h.options.ReadOnly:
		return errReadOnly()
	case !visitorFrom(r).May(scope):
		return fault.New(fault.ToolDenied, "the token does not have the scope %s", scope)
	}
	return nil
}

// health answers without a session, with the status only.
func (h *Hub) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	w.Header().Set("Content-Type", "application/json")
	answer := `{"status":"ok"}`
	if _, err := h.options.Think.StateList(ctx, think.StateListInput{Limit: 1}); err != nil {
		h.options.Logger.WarnContext(r.Context(), "the hub cannot read the runs", "cause", err.Error())
		answer = `{"status":"failed"}`
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write([]byte(answer + "\n")) // the client may be gone
}
