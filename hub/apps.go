package hub

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"savant/engines"
	"savant/fault"
	"savant/internal/visible"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// Apps are parts of the hub that a client shows in the conversation (MCP Apps): a question
// to a person, and a run. They implement mcpio.Apps and are safe for concurrent use.
//
// A model must not answer in a person's place. The tool that takes an answer is for pages
// alone, and takes it only with a code that is computed with the key of a page. The key is
// in the page that the client reads to show it, and in nothing else: each reading has its
// own, which one answer uses up. A code is bound to the session, the run, the step, the
// digest and the answer.
type Apps struct {
	hub   *Hub
	tools *engines.Registry
	pages func() (*template.Template, error)

	mu   sync.Mutex
	keys []pageKey // the latest are last
}

// pageKey is the key of a page that a session has read.
type pageKey struct{ session, key string }

// maxKeys bounds the pages that may still answer. An older one reads itself anew.
const maxKeys = 1_000

// appPages are the pages by their addresses.
var appPages = map[string]string{"ui://savant/approve": "An approval", "ui://savant/ask": "A question", "ui://savant/run": "A run"}

// appStep names what a question is about, appRun a run.
type appStep struct {
	Workflow string `json:"workflow,omitempty" list:"no"`
	RunID    string `json:"run_id" example:"r1"`
	StepID   string `json:"step_id" example:"approve"`
}

type appRun struct {
	Workflow string `json:"workflow,omitempty" list:"no"`
	RunID    string `json:"run_id" example:"r1"`
}

// appAnswer is the form of a page, as it encodes it.
type appAnswer struct {
	appStep
	Digest string `json:"digest"`
	Form   string `json:"form"`
	Code   string `json:"code"`
}

// Icons are pictures in PNG by the names of engines, and Savant's own.
func Icons() map[string][]byte {
	icons := map[string][]byte{}
	files, _ := static.ReadDir("static/icons") // they are built in
	for _, file := range files {
		icons[strings.TrimSuffix(file.Name(), ".png")], _ = static.ReadFile("static/icons/" + file.Name())
	}
	return icons
}

// NewApps returns the apps of a folder. Of the options, Think, Redactor and Logger are
// needed.
func NewApps(options Options) (*Apps, error) {
	// Most clients show no page, so they are read when one is shown.
	pages := sync.OnceValues(func() (*template.Template, error) {
		return template.New("").Funcs(functions()).ParseFS(templates, "templates/*.html")
	})
	a := &Apps{hub: &Hub{options: options}, pages: pages, tools: engines.NewRegistry(engines.Options{Logger: options.Logger})}
	shows := func(t engines.Tool, title, page string) engines.Tool {
		t.ReadOnly, t.Idempotent, t.Title, t.Page, t.Exact = true, true, title, page, false
		return t
	}
	decides := engines.BindCall("app.decide", "Takes the answer that a person gave in the page of a question.", a.decide)
	decides.Title, decides.ForPages = "Answer", true
	return a, a.tools.AddEngine(engines.Engine{Name: "app"},
		shows(engines.BindCall("app.approve", "Show the person the approval that a step waits for. They decide in the page that appears. Then call think.next with its step_id and no result_snapshot.", a.question), "Show an approval", "ui://savant/approve"),
		shows(engines.BindCall("app.ask", "Show the person the question that a step waits for. They answer in the page that appears. Then call think.next with its step_id and no result_snapshot.", a.question), "Show a question", "ui://savant/ask"),
		shows(engines.BindCall("app.run", "Show the person a run: its graph and how it stands, live.", a.run), "Show a run", "ui://savant/run"),
		decides)
}

// Tools implements mcpio.Apps.
func (a *Apps) Tools() *engines.Registry { return a.tools }

// Page implements mcpio.Apps.
func (a *Apps) Page(uri string, caller engines.Identity) (string, bool) {
	title, known := appPages[uri]
	if !known {
		return "", false
	}
	style, _ := static.ReadFile("static/hub.css") // they are built in
	script, _ := static.ReadFile("static/app.js")
	text, err := a.render("app", map[string]any{"Title": title, "Style": template.CSS(style), "Script": template.JS(script), "Key": a.key(caller.ID), "Page": uri})
	if err != nil {
		a.hub.options.Logger.Error("a page for clients failed", "page", uri, "cause", err.Error())
		return "", false
	}
	return text, true
}

// render executes a template: INTERNAL.
func (a *Apps) render(name string, data any) (string, error) {
	pages, err := a.pages()
	if err != nil {
		return "", fault.New(fault.Internal, "the pages for clients: %w", err)
	}
	return rendered(pages, name, data)
}

// key returns the key of one more page of a session.
func (a *Apps) key(session string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.keys) >= maxKeys {
		a.keys = a.keys[1:]
	}
	key := pageKey{session, rand.Text()}
	a.keys = append(a.keys, key)
	return key.key
}

// take returns the key of the page whose code an answer has; nobody else has it then.
func (a *Apps) take(session string, run state.Key, in appAnswer) (key pageKey, ok bool) {
	said := []byte(strings.Join([]string{run.Workflow, run.Run, in.StepID, in.Digest, in.Form}, "\n"))
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.keys, func(each pageKey) bool {
		sum := hmac.New(sha256.New, []byte(each.key))
		sum.Write(said)
		return each.session == session && hmac.Equal([]byte(hex.EncodeToString(sum.Sum(nil))), []byte(in.Code))
	})
	if session == "" || at < 0 {
		return pageKey{}, false
	}
	key = a.keys[at]
	a.keys = slices.Delete(a.keys, at, at+1)
	return key, true
}

// release gives a page its key back: its answer did not count.
func (a *Apps) release(key pageKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = append(a.keys, key)
}

// question shows what a step asks a person: INVALID_TRANSITION where it asks nothing.
func (a *Apps) question(ctx context.Context, call engines.Call, in appStep) (engines.Content, error) {
	key, err := a.hub.options.Think.Locate(ctx, in.Workflow, in.RunID)
	if err != nil {
		return engines.Content{}, err
	}
	for _, each := range a.hub.questionsOf(ctx, key, callerOf(call)) {
		if each.Step == in.StepID {
			said := "The question is shown to the person. Wait until they have answered."
			if each.Barred != "" {
				said = "The question is shown, but is not for the person at this client: " + each.Barred
			}
			return a.shownQuestion(key, each.questionView, said)
		}
	}
	return engines.Content{}, fault.New(fault.InvalidTransition, "step %s of run %s asks no person now: call think.next with its step_id and no result_snapshot", fault.Cut(in.StepID, 100), key.Run)
}

func (a *Apps) shownQuestion(key state.Key, asked questionView, said string) (engines.Content, error) {
	view := &runView{Info: state.Info{Workflow: key.Workflow, Run: key.Run}, Questions: []questionView{asked}}
	return a.content("questions", said, view, map[string]any{"workflow": key.Workflow, "run_id": key.Run, "step_id": asked.Step, "digest": asked.Digest})
}

// content is a part of a page for the page of a client, and a text for the model.
func (a *Apps) content(name, said string, view any, structured map[string]any) (engines.Content, error) {
	text, err := a.render(name, clean(a.hub.options.Redactor, page{View: view}))
	if err != nil {
		return engines.Content{}, err
	}
	structured["html"] = text
	whole, err := json.Marshal(structured)
	if err != nil {
		return engines.Content{}, fault.New(fault.Internal, "a page for clients: %w", err)
	}
	blocks, err := json.Marshal([]map[string]string{{"type": "text", "text": said}})
	return engines.Content{Blocks: blocks, Structured: whole}, err
}

// decide takes the answer of a page. APPROVAL_REQUIRED without the page's code;
// STATE_CONFLICT if the question changed or was answered elsewhere.
func (a *Apps) decide(ctx context.Context, call engines.Call, in appAnswer) (engines.Content, error) {
	engine := a.hub.options.Think
	key, err := engine.Locate(ctx, in.Workflow, in.RunID)
	if err != nil {
		return engines.Content{}, err
	}
	taken, ok := a.take(call.ID, key, in)
	if !ok {
		return engines.Content{}, fault.New(fault.ApprovalRequired, "only the page that shows the question takes its answer, and once: show it anew, or run: savant approve %s %s", key.Run, fault.Cut(in.StepID, 100))
	}
	recorded := false
	defer func() {
		if !recorded {
			a.release(taken)
		}
	}()
	q, err := a.hub.questionShown(ctx, key, in.StepID, in.Digest, callerOf(call))
	if err != nil {
		return engines.Content{}, err
	}
	sent, err := url.ParseQuery(in.Form)
	if err != nil {
		return engines.Content{}, fault.New(fault.InvalidParams, "the form of the page cannot be read: %w", err)
	}
	if recorded, err = a.hub.answer(ctx, key, &q, sent, callerOf(call)); err != nil {
		return engines.Content{}, err
	}
	if recorded {
		return a.content("app-said", "The answer is recorded.", "The answer is recorded. The model goes on with think.next.", map[string]any{"recorded": true})
	}
	return a.shownQuestion(key, q.questionView, "The answer does not fit.")
}

func callerOf(call engines.Call) think.Caller {
	return think.Caller{ID: call.ID, Name: call.Name, Client: call.Client}
}

// appView is a run as a client shows it.
type appView struct {
	Workflow, Run string
	Version       int
	Standing      Standing
	Drawing       *drawing
}

// run shows a run.
func (a *Apps) run(ctx context.Context, _ engines.Call, in appRun) (engines.Content, error) {
	h := a.hub
	key, err := h.options.Think.Locate(ctx, in.Workflow, in.RunID)
	if err != nil {
		return engines.Content{}, err
	}
	// What is drawn follows the query of a page, and this one has none.
	request := (&http.Request{URL: &url.URL{}}).WithContext(ctx)
	view, ended := &appView{Workflow: key.Workflow, Run: key.Run}, false
	var drawn *scene
	err = h.options.Think.View(ctx, key, 0, func(v *think.View) error {
		now := v.Now()
		view.Version, view.Standing.Status, ended = now.Version, string(now.Status), now.Final != nil
		if now.Status == flow.Waiting {
			view.Standing.WaitsFor = "person"
		}
		drawn, err = sceneOf(request, v)
		return err
	})
	if err != nil {
		return engines.Content{}, err
	}
	view.Drawing = h.artist(request, drawn, "").drawing(drawn)
	view.Drawing.Whole = nil // such a page has no links
	return a.content("app-run", "The run is shown: "+visible.Line(view.Standing.String()), view, map[string]any{"workflow": key.Workflow, "run_id": key.Run, "version": view.Version, "ended": ended})
}
