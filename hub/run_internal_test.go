package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/hub/notify"
	"savant/internal/redact"
	"savant/packages"
	"savant/rules"
	rulesessions "savant/rules/sessions"
	"savant/telemetry"
	"savant/think"
	"savant/think/library"
	"savant/think/maintenance"
	"savant/think/state"
)

// site is a hub of a folder. Its pages are requested with a session.
type site struct {
	t       testing.TB
	hub     *Hub
	handler http.Handler
	cookie  *http.Cookie
}

// noStandings leaves the state of every run as the listing has it.
type noStandings struct{}

func (noStandings) Standing(_ context.Context, run state.Info) Standing {
	return Standing{Status: run.Status}
}
func (noStandings) Driven(state.Key) bool                  { return false }
func (noStandings) Deciders(context.Context) []Decider     { return nil }
func (noStandings) Unanswered(context.Context) (int, bool) { return 0, false }

// noCalls knows of no call that a rule judged, noSources of no cases and no packages.
type (
	noCalls   struct{ Calls }
	noSources struct{}
)

func (noCalls) Sessions() ([]rulesessions.Session, []rulesessions.Refusal, error) {
	return nil, nil, nil
}
func (noSources) Cases(context.Context, string) (Cases, error) { return Cases{}, nil }
func (noSources) Packages() ([]packages.Package, error)        { return nil, nil }
func (noSources) Rules() (*rules.Set, error)                   { return rules.New(), nil }

// newSite returns a hub of a new folder with workflows, given as names and texts.
func newSite(t testing.TB, workflows ...string) *site {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	for i := 0; i < len(workflows); i += 2 {
		text := "name: " + workflows[i] + "\nversion: \"1\"\n" + workflows[i+1]
		require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", workflows[i]+".yaml"), []byte(text), 0o600))
	}
	return openSite(t, folder)
}

// openSite returns a hub of a folder, as in a newly started program.
func openSite(t testing.TB, folder string) *site {
	t.Helper()
	store, err := state.Open(folder, state.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: os.DirFS(folder), Folder: folder}), Store: store, Imports: store})
	t.Cleanup(engine.Close)
	recorder := telemetry.NewRecorder(telemetry.Options{})
	h, err := New(t.Context(), Options{Address: "127.0.0.1:9999", Folder: folder, Think: engine, Keeper: maintenance.New(engine, store),
		Recorder: recorder, Redactor: redact.Shapes(), Standings: noStandings{}, Calls: noCalls{}, Sources: noSources{}, Logs: filepath.Join(folder, "logs"), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s := &site{t: t, hub: h, handler: h.Handler()}
	answer := s.do(http.MethodGet, strings.TrimPrefix(h.Link(), "http://127.0.0.1:9999"), nil)
	s.cookie = answer.Result().Cookies()[0]
	return s
}

func (s *site) do(method, path string, form url.Values) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(s.t.Context(), method, "http://127.0.0.1:9999"+path, strings.NewReader(form.Encode()))
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if s.cookie != nil {
		request.AddCookie(s.cookie)
	}
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, request)
	return answer
}

func (s *site) page(path string) string {
	s.t.Helper()
	answer := s.do(http.MethodGet, path, nil)
	require.Equal(s.t, http.StatusOK, answer.Code, answer.Body.String())
	return answer.Body.String()
}

func (s *site) plan(workflow, run string, params map[string]any) {
	s.t.Helper()
	_, err := s.hub.options.Think.Plan(s.t.Context(), think.PlanInput{Workflow: workflow, RunID: run, Params: params})
	require.NoError(s.t, err)
}

func (s *site) answer(workflow, run, step, result string) {
	s.t.Helper()
	_, err := s.hub.options.Think.Next(s.t.Context(), think.NextInput{Workflow: workflow, RunID: run, StepID: step, ResultSnapshot: json.RawMessage(result)})
	require.NoError(s.t, err)
}

const release = `
params:
  strict: {type: boolean, default: true}
steps:
  - {id: plan, call: flow.set, input_template: {value: {files: [a, b], score: 3}}, capture_as: plan}
  - {id: review, foreach: state.plan.files, as: file, call: llm.generate, input_template: {task: "{{ file }}"}, capture_as: reviews}
  - {id: strict, call: flow.assert, when: params.strict && plan.score > 5, input_template: {that: false, message: too risky}}
  - {id: repair, call: flow.run, deps: [review], input_template: {workflow: inner}, repeat: {until: "false", max: 3}, capture_as: repair, on_failure: continue}
  - {id: ship, call: human.approve, deps: [repair, strict], join: done, input_template: {message: "Ship?"}, capture_as: shipped}
  - {id: announce, call: llm.generate, when: shipped.approved, input_template: {task: "{{ reviews }}"}}
`

const repairs = `
steps:
  - {id: split, call: flow.set, input_template: {value: 1}, capture_as: parts}
  - {id: join, call: llm.generate, deps: [split], input_template: {task: "join"}, capture_as: joined}
outputs: {joined: "{{ state.joined }}"}
`

var nodePattern = regexp.MustCompile(`<g class="node (\w+) (\w*)(?: selected)?"[^>]*>\s*<a href="([^"]+)"[^>]*><title>([^<]+)</title>`)

// nodes returns the states of the steps that a page draws.
func nodes(page string) map[string]string {
	out := map[string]string{}
	for _, found := range nodePattern.FindAllStringSubmatch(page, -1) {
		id, _, _ := strings.Cut(found[4], ":")
		out[id] = found[2]
	}
	return out
}

// TestARunIsDrawn checks the latest and earlier versions of a run. Each step shows its
// state by colour, word and shape.
func TestARunIsDrawn(t *testing.T) {
	s := newSite(t, "release", release, "inner", repairs)
	s.plan("release", "r1", nil)
	s.answer("release", "r1", "review_0", `"fine"`)
	now := s.page("/runs/release/r1")
	require.Equal(t, map[string]string{"plan": "done", "review": "issued", "strict": "skipped", "repair": "pending", "ship": "pending", "announce": "conditional"}, nodes(now))
	require.Contains(t, now, `href="#s-issued"`)
	require.Contains(t, now, "issued · 1 of 2 · waits for a model")
	require.Contains(t, now, "false: if params.strict &amp;&amp; plan.sco…")
	require.Contains(t, now, "params.strict = true\n  state.plan = {&#34;files&#34;", "the title of a condition has its operands")
	require.NotContains(t, now, "As it was")

	s.answer("release", "r1", "review_1", `"fine"`)
	s.answer("release", "r1", "repair_0/join", `1`)
	open := s.page("/runs/release/r1")
	require.Equal(t, "issued", nodes(open)["repair_1/join"], "a workflow that is under way is opened")
	require.Contains(t, open, "repair, round 2 of 2")
	require.Equal(t, "done", nodes(s.page("/runs/release/r1?open=repair_0"))["repair_0/join"])
	require.NotContains(t, nodes(s.page("/runs/release/r1?open=")), "repair_1/join")

	past := s.page("/runs/release/r1?version=2")
	require.Equal(t, nodes(now), nodes(past))
	require.Contains(t, past, "As it was at v2")
	require.Contains(t, past, `min="1" max="4" value="2"`)
	require.Contains(t, past, `href="?version=1#graph"`)
	require.Contains(t, past, `href="?version=3#graph"`)
	require.NotContains(t, past, "<code>reviews</code>", "its captures are those of the version")
	require.Contains(t, s.page("/runs/release/r1?version=3"), "<code>reviews</code>")
	require.Equal(t, "issued", nodes(s.page("/runs/release/r1?version=1"))["review"])
	for _, version := range []string{"5", "999999999"} {
		require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, "/runs/release/r1?version="+version, nil).Code)
	}
	require.Equal(t, nodes(open), nodes(s.page("/runs/release/r1?version=x")))
}

// TestThePanelSaysWhy checks that the panel explains a step's state as think.explain
// does.
func TestThePanelSaysWhy(t *testing.T) {
	s := newSite(t, "release", release, "inner", repairs)
	s.plan("release", "r1", nil)
	s.answer("release", "r1", "review_0", `{"password": "hunter2", "n": 1}`)
	skipped := s.page("/runs/release/r1?step=strict")
	require.Contains(t, skipped, "its condition is false")
	require.Contains(t, skipped, `<code class="text">params.strict &amp;&amp; plan.score &gt; 5</code> gave <strong class="text">false</strong>`)
	require.Contains(t, skipped, `<dt><code>params.strict</code></dt><dd><code class="text">true</code></dd>`)
	require.Contains(t, skipped, `selected"`)
	explained, err := s.hub.options.Think.Explain(t.Context(), think.ExplainInput{Workflow: "release", RunID: "r1", StepID: "strict"})
	require.NoError(t, err)
	require.Equal(t, false, explained.Why[1].Value)

	waits := s.page("/runs/release/r1?step=review_1")
	require.Contains(t, waits, "waits for a model")
	require.Contains(t, waits, "&#34;task&#34;: &#34;b&#34;", "the input that it was issued with")
	answered := s.page("/runs/release/r1?step=review_0")
	require.Contains(t, answered, `<a href="?version=2#graph">v2</a>`)
	require.Contains(t, answered, "seen by self")
	require.NotContains(t, answered, "hunter2")
	loop := s.page("/runs/release/r1?step=review")
	require.Contains(t, loop, `?q=review_`)
	require.Contains(t, s.page("/runs/release/r1?step=nothing"), "has no step")
}

// TestWhatChangedBetweenVersions compares two versions of a run, and two runs.
func TestWhatChangedBetweenVersions(t *testing.T) {
	s := newSite(t, "release", release, "inner", repairs)
	s.plan("release", "r1", nil)
	s.plan("release", "r2", map[string]any{"strict": false})
	s.answer("release", "r1", "review_0", `{"risk": "low"}`)
	s.answer("release", "r1", "review_1", `{"risk": "high"}`)
	changed := s.page("/runs/release/r1?from=1&to=3")
	require.Contains(t, changed, "From v1 to v3")
	require.Regexp(t, `<code>review</code> <span class="differs">differs</span></th><td><span class="status going s-issued">issued</span></td><td><span class="status good s-done">done`, changed)
	require.Regexp(t, `<code>reviews</code></th><td><span class="hint">nothing</span>`, changed)
	require.NotContains(t, changed[strings.Index(changed, "From v1"):], "<code>strict</code>", "a step that stands alike is left out")
	require.Contains(t, s.page("/runs/release/r1?from=3&to=3"), "No step differs. The same in both: 10 steps.")
	require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, "/runs/release/r1?from=1&to=9", nil).Code)
	require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, "/runs/release/r1?from=-1&to=2", nil).Code)

	s.answer("release", "r2", "review_0", `{"risk": "low"}`)
	s.answer("release", "r2", "review_1", `{"risk": "low"}`)
	both := s.page("/compare?left=release%2Fr1&right=release%2Fr2")
	require.Regexp(t, `<code>reviews</code> <code class="text">/1/risk</code></th><td><pre>&#34;high&#34;</pre></td><td><pre>&#34;low&#34;</pre>`, both)
	require.Regexp(t, `<tr><th scope="row"><code>review</code></th>`, both, "the same on both sides")
	require.Regexp(t, `<tr class="has"><th scope="row">Parameters`, both)
	require.NotContains(t, s.page("/compare?left=release%2Fr1&right=release%2Fr2&only=differences"), `<code>plan</code>`)
	require.Contains(t, s.page("/compare"), `href="/compare?left=release%2fr1"`)
	require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, "/compare?left=release%2Fr1&right=release%2Fnone", nil).Code)
}

// TestAVerdictAtAClick checks that the page shows the verdict of savant verify, and
// that it needs a form of the session.
func TestAVerdictAtAClick(t *testing.T) {
	s := newSite(t, "release", release, "inner", repairs)
	s.plan("release", "r1", nil)
	s.answer("release", "r1", "review_0", `1`)
	require.Equal(t, http.StatusForbidden, s.do(http.MethodPost, "/runs/release/r1/verify", url.Values{}).Code)
	token := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(s.page("/runs/release/r1"))[1]
	verdict := s.do(http.MethodPost, "/runs/release/r1/verify", url.Values{"csrf": {token}})
	require.Equal(t, http.StatusOK, verdict.Code)
	require.Contains(t, verdict.Body.String(), "identical</span>: every state, instruction and reply of 2 records")
	require.Contains(t, verdict.Body.String(), "<dt>Seen by self</dt><dd>1 result</dd>")

	journal := filepath.Join(s.hub.options.Folder, ".savant", "state", "release", "r1.journal")
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal, []byte(strings.Replace(string(text), `"step":"review_0"`, `"step":"review_1"`, 1)), 0o600))
	damaged := s.do(http.MethodPost, "/runs/release/r1/verify", url.Values{"csrf": {token}})
	require.Contains(t, damaged.Body.String(), "cannot be verified")
	require.Contains(t, damaged.Body.String(), "does not match its hash")
	compared := s.do(http.MethodGet, "/compare?left=release%2Fr1&right=release%2Fr1", nil).Body.String()
	require.Contains(t, compared, "<h1>The run is damaged</h1>")
	require.Contains(t, compared, "does not match its hash")
}

// bad is a text that would break out of a page that does not escape it.
const bad = "</title></text></svg>\"'><script>alert(1)</script>{{.}}\u202e " + token

// TestHostileTextsInAGraph checks that markup in captures, conditions, messages, inputs
// and addresses is shown as text.
func TestHostileTextsInAGraph(t *testing.T) {
	quoted, err := json.Marshal(bad)
	require.NoError(t, err)
	text := strings.ReplaceAll(string(quoted), "{{.}}", "")
	when, err := json.Marshal("params.p != " + strconv.Quote(bad))
	require.NoError(t, err)
	s := newSite(t, "mean", "description: "+text+"\nparams:\n  p: {type: string}\nsteps:\n"+
		"  - {id: set, call: flow.set, input_template: {value: {\"k\": \"{{ params.p }}\"}}, capture_as: c, rationale: "+text+"}\n"+
		"  - {id: cond, call: flow.assert, when: "+string(when)+", input_template: {that: false, message: "+text+"}}\n"+
		"  - {id: fails, call: flow.assert, on_failure: continue, input_template: {that: false, message: \"{{ params.p }}\"}}\n"+
		"  - {id: ask, call: llm.generate, input_template: {task: \"{{ c.k }}\"}}\n")
	s.plan("mean", "r1", map[string]any{"p": bad})
	s.plan("mean", "r2", map[string]any{"p": bad + "2"})
	s.answer("mean", "r1", "ask", string(quoted))
	in := url.QueryEscape(bad)
	for _, path := range []string{"/workflows/mean", "/workflows/mean?open=" + in, "/runs/mean/r1", "/runs/mean/r1?step=set", "/runs/mean/r1?step=cond", "/runs/mean/r1?step=fails",
		"/runs/mean/r2?step=ask", "/runs/mean/r1?step=ask", "/runs/mean/r1?from=1&to=2", "/compare?left=mean/r1&right=mean/r2", "/compare?kind=" + in + "&left=&only=" + in,
		"/runs/mean/r1?version=" + in, "/runs/mean/r1?step=" + in + "&open=" + in + "&q=" + in, "/runs/mean/r1?status=" + in + "&graph=" + in + "&steps=" + in + "&captures=" + in} {
		body := s.page(path)
		for _, each := range []string{"<script>", "</title></text>", "</text></svg>\"", "<no value>", "\u202e", token} {
			require.NotContains(t, body, each, path)
		}
		require.NotContains(t, body, "ZgotmplZ", path)
	}
	for _, path := range []string{"/compare?left=" + in, "/compare?left=" + in + "&right=" + in, "/compare?left=mean%2Fr1&right=..%2F..", "/runs/mean/r1?from=1&to=999999999999999999999999999"} {
		answer := s.do(http.MethodGet, path, nil)
		require.Less(t, answer.Code, 500, path)
		require.NotContains(t, answer.Body.String(), "<script>")
	}
}

// TestAWorkflowWithoutRuns says how one is started, unless it cannot be; and shows choices
// and defaults as they were written.
func TestAWorkflowWithoutRuns(t *testing.T) {
	s := newSite(t, "good", "params:\n  p: {type: array, default: [\"a & <b>\"]}\n  q: {type: string, enum: [\"<c>\", d]}\nsteps:\n  - {id: a, call: flow.set, input_template: {value: \"{{ params.p }}{{ params.q }}\"}}\n",
		"broken", "steps:\n  - {id: a, call: flow.set, input_template: {value: \"{{ nope }}\"}}\n")
	good, broken := s.page("/workflows/good"), s.page("/workflows/broken")
	require.Contains(t, good, "Start one with <code>savant workflows run good</code>")
	require.Contains(t, broken, "There are none yet.")
	require.NotContains(t, broken, "Start one with")
	require.Contains(t, html.UnescapeString(good), `["a & <b>"]`)
	require.Contains(t, html.UnescapeString(good), `{"enum":["<c>","d"]}`)
}

// longRun returns a workflow with a loop over items of 1 KB and 40 conditional steps.
func longRun(items int, condition string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "limits: {items: %d, steps: %d}\nparams:\n  list: {type: array}\nsteps:\n", items, 2*items+200)
	text.WriteString("  - {id: each, foreach: params.list, as: one, call: flow.set, input_template: {value: {text: \"{{ one }} " + strings.Repeat("x", 900) + "\"}}, capture_as: all}\n")
	text.WriteString("  - {id: few, call: flow.set, input_template: {value: {n: 3}}, capture_as: few}\n")
	for i := range 40 {
		fmt.Fprintf(&text, "  - {id: s%d, call: flow.set, when: \"%s > %d\", input_template: {value: %d}, capture_as: c%d}\n", i, condition, i, i, i)
	}
	text.WriteString("  - {id: ask, deps: [s1, s39], call: llm.generate, input_template: {task: \"{{ len(all) }}\"}}\n")
	return text.String()
}

func (s *site) planLong(items int) {
	list := make([]any, items)
	for i := range list {
		list[i] = i
	}
	s.plan("long", "r1", map[string]any{"list": list})
}

// TestTheFirstViewOfALongRunIsSmall checks that the page of 10,000 steps has less than
// 200 KB, because loops are folded and lists are paged.
func TestTheFirstViewOfALongRunIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	s := newSite(t, "long", longRun(10_000, "few.n"))
	s.planLong(10_000)
	page := s.page("/runs/long/r1")
	require.Less(t, len(page), 200<<10)
	require.Contains(t, page, "10000 of 10000")
	require.Contains(t, page, "1–100 of 10043")
	require.Less(t, len(s.page("/runs/long/r1?step=each&q=each_9")), 200<<10)
}

// slowNotifier takes a message the second time that it is sent.
type slowNotifier chan notify.Message

func (n slowNotifier) Send(message notify.Message) bool {
	n <- message
	return len(n) != 1
}

type nothingAsked struct{ Calls }

func (nothingAsked) Questions() ([]rulesessions.Question, error) { return nil, nil }

// TestAMessageThatIsNotTakenIsSentAgain: many questions at once and a slow receiver lose none.
func TestAMessageThatIsNotTakenIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, "asks", "steps:\n  - {id: sure, call: human.approve, input_template: {message: \"Sure?\"}}\n")
	s.plan("asks", "r1", nil)
	sent := make(slowNotifier, 10)
	s.hub.options.Notifier, s.hub.options.Calls = sent, nothingAsked{}
	ctx, cancel := context.WithCancel(t.Context())
	s.hub.work.Go(func() { s.hub.notices(ctx) })
	require.Eventually(t, func() bool { return len(sent) == 2 }, 20*time.Second, 10*time.Millisecond)
	cancel()
	s.hub.Wait()
	require.Equal(t, <-sent, <-sent)
}

// TestALongQuestionIsWholeBehindALink: the page has its beginning and takes the answer; a
// link has all that the answer is bound to, as long as it is asked.
func TestALongQuestionIsWholeBehindALink(t *testing.T) {
	t.Parallel()
	for name, question := range map[string]string{
		"message":    "call: human.approve, input_template: {message: \"{{ params.text }}\"}",
		"notes":      "call: human.approve, input_template: {message: \"Sure?\", notes: \"{{ params.text }}\"}",
		"ask":        "call: human.ask, input_template: {message: \"{{ params.text }}\", schema: {type: object, properties: {name: {type: string}}}}",
		"many parts": "call: human.approve, input_template: {message: \"{{ params.text }}\"" + strings.Repeat(", p#: \"{{ params.text }}\"", 30) + "}",
	} {
		for i := range 30 {
			question = strings.Replace(question, "p#", "p"+strconv.Itoa(i), 1)
		}
		s := newSite(t, "long", "params: {text: {type: string}}\nsteps:\n  - {id: sure, "+question+"}\n")
		long := strings.Repeat("- \"<a line>\"\n", 20_000/(1+20*strings.Count(name, " "))) + "the last line"
		secret := "ghp_" + strings.Repeat("aB1", 12)
		s.plan("long", "r2", map[string]any{"text": secret + " " + long})
		for _, each := range s.hub.questionsOf(t.Context(), state.Key{Workflow: "long", Run: "r2"}, think.Caller{}) {
			require.NotContains(t, s.page("/runs/long/r2/value?question="+each.Step+"&digest="+each.Digest), secret, name)
		}
		s.plan("long", "r1", map[string]any{"text": long})
		page := s.page("/runs/long/r1")
		require.Less(t, len(page), 200<<10, name)
		require.Contains(t, page, `<button class="yes"`, name)
		link := html.UnescapeString(regexp.MustCompile(`href="([^"]*question=[^"]*)">Show all`).FindStringSubmatch(page)[1])
		require.Contains(t, s.page(link), long, name)
		require.Equal(t, http.StatusConflict, s.do(http.MethodGet, strings.Replace(link, "digest=", "digest=0", 1), nil).Code, name)
	}
}

// TestAPartOfALargeWorkflowIsDrawn checks that the part around the requested step is
// drawn, and the whole on request.
func TestAPartOfALargeWorkflowIsDrawn(t *testing.T) {
	var text strings.Builder
	text.WriteString("steps:\n  - {id: s0, call: llm.generate, input_template: {task: x}}\n")
	for i := 1; i < 400; i++ {
		fmt.Fprintf(&text, "  - {id: s%d, deps: [s%d], call: llm.generate, input_template: {task: x}}\n", i, i-1)
	}
	s := newSite(t, "large", text.String())
	s.plan("large", "r1", nil)
	part := nodes(s.page("/runs/large/r1?step=s200"))
	require.Len(t, part, drawnPart)
	require.Contains(t, part, "s200")
	require.NotContains(t, part, "s0")
	require.Contains(t, nodes(s.page("/runs/large/r1")), "s0", "where the run stands")
	whole := s.page("/runs/large/r1?graph=whole")
	require.Len(t, nodes(whole), 400)
	require.Less(t, len(whole), 200<<10)
	require.Contains(t, whole, "<title>s200: llm.generate\npending</title>", "the name alone is drawn, and the tooltip has the rest")
	require.NotContains(t, whole, `class="call"`)
	require.Contains(t, s.page("/runs/large/r1"), `class="call"`)
}

// TestNoAddressMakesAPageHeavy: each link of a page repeats its address, so a long one leaves
// room for fewer, and a longer one is refused with a way back.
func TestNoAddressMakesAPageHeavy(t *testing.T) {
	t.Parallel()
	steps := func(count int, call string) string {
		var text strings.Builder
		text.WriteString("limits: {steps: 5000}\nsteps:\n")
		for i := range count {
			fmt.Fprintf(&text, "  - {id: a_step_with_a_longer_name_%d, %s}\n", i, call)
		}
		return text.String()
	}
	const set = "call: flow.set, input_template: {value: 1}"
	s := newSite(t, "large", steps(2000, set), "inner", steps(90, set), "outer", steps(50, "call: flow.run, input_template: {workflow: inner}"))
	s.plan("large", "r1", nil)
	s.plan("outer", "r1", nil)
	opened := url.Values{}
	for i := range 20 {
		opened.Add("open", "a_step_with_a_longer_name_"+strconv.Itoa(i))
	}
	for _, path := range []string{"/runs/large/r1", "/runs/outer/r1", "/workflows/large", "/workflows/outer"} {
		for _, query := range []string{"graph=whole", "x=" + strings.Repeat("x", 900), "q=" + strings.Repeat("a", 900), "graph=whole&x=" + strings.Repeat("%3C", 250), strings.Repeat("x&y=&", 60), opened.Encode(),
			"q=" + strings.Repeat("a", 900) + "&x=" + strings.Repeat("b", 900), "graph=whole&q=" + url.QueryEscape(strings.Repeat("中", 109)) + "&" + opened.Encode(),
			"lines=3", "steps=999999999", "step=", "step=a&step=b&version=0", "open=&open=a&open=a"} {
			require.Less(t, len(s.page(path+"?"+query)), 200<<10, "%s?%s", path, query)
		}
		for _, text := range []string{strings.Repeat("a", 950), strings.Repeat("中", 109), strings.Repeat("ü", 160)} {
			links := regexp.MustCompile(`href="(\?[^"#]*)`).FindAllStringSubmatch(s.page(path+"?q="+url.QueryEscape(text)), -1)
			require.NotEmpty(t, links)
			for _, link := range links[:min(len(links), 5)] {
				require.Equal(t, http.StatusOK, s.do(http.MethodGet, path+html.UnescapeString(link[1]), nil).Code, "a search of a long text, and a step of what it found")
			}
		}
		refused := s.do(http.MethodGet, path+"?x="+strings.Repeat("x", 30_000), nil)
		require.Equal(t, http.StatusRequestURITooLong, refused.Code)
		require.Contains(t, refused.Body.String(), `<a href="`+path+`">Back to the page</a>`)
	}
	require.Equal(t, http.StatusRequestURITooLong, s.do(http.MethodGet, "/workflows/"+strings.Repeat("x", 30_000), nil).Code)
	require.Contains(t, s.page("/workflows/large?lines=4"), `id="L1700"`, "a later part of the file")
	require.Contains(t, s.page("/workflows/large?open="), `<a href="#L4">`)
}

// BenchmarkFirstView measures the first view of a run. Once the program has opened it,
// a run of 10,000 steps should take no longer than one of 100. "cold" opens the run
// anew from a journal with a record for each step; "records" only reads that journal.
func BenchmarkFirstView(b *testing.B) {
	for _, items := range []int{100, 10_000} {
		s := newSite(b, "long", longRun(items, "len(all)"))
		s.planLong(items)
		b.Run(fmt.Sprintf("open/steps=%d", items), func(b *testing.B) {
			for b.Loop() {
				s.page("/runs/long/r1")
			}
		})
	}
	s := newSite(b, "long", strings.ReplaceAll(longRun(10_000, "few.n"), "as: one, call: flow.set, input_template: {value", "as: one, call: llm.generate, input_template: {task"))
	s.planLong(10_000)
	result := `"` + strings.Repeat("x", 1000) + `"`
	for i := range 10_000 {
		s.answer("long", "r1", "each_"+strconv.Itoa(i), result)
	}
	b.Run("cold/steps=10000", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			anew := openSite(b, s.hub.options.Folder)
			b.StartTimer()
			anew.page("/runs/long/r1")
		}
	})
	b.Run("records/steps=10000", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			anew := openSite(b, s.hub.options.Folder)
			b.StartTimer()
			if _, err := anew.hub.options.Think.Position(b.Context(), "long", "r1"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("past/steps=10000", func(b *testing.B) {
		for b.Loop() {
			s.page("/runs/long/r1?version=9000")
		}
	})
}

// TestABarrierIsDrawn checks that the graph shows which check holds a step, in a run and
// in a workflow without one.
func TestABarrierIsDrawn(t *testing.T) {
	const guarded = "steps:\n  - {id: ok, call: human.approve%s, input_template: {message: \"Go?\"}}\n  - {id: go, call: llm.generate, input_template: {task: go}}\n"
	s := newSite(t, "guarded", fmt.Sprintf(guarded, ""), "free", fmt.Sprintf(guarded, ", barrier: false"))
	s.plan("guarded", "r1", nil)
	for _, page := range []string{s.page("/runs/guarded/r1"), s.page("/workflows/guarded")} {
		require.Regexp(t, `class="\w* ?barrier"`, page)
		require.Contains(t, page, "held by the check ok")
		require.Contains(t, page, "a check: it holds the steps below it in the file")
	}
	require.Contains(t, s.page("/runs/guarded/r1?step=go"), "held by the check <a")
	require.NotContains(t, s.page("/workflows/free"), "barrier\"")
	require.NotContains(t, s.page("/workflows/free"), "held by")
}

// TestAFormThatBlocksARun checks that a start, an answer and a fork after which a run is
// blocked lead to the run, whose page says why.
func TestAFormThatBlocksARun(t *testing.T) {
	const rest = "\n  - {id: bad, when: state.value.n, call: llm.generate, input_template: {task: x}}\n"
	s := newSite(t, "soon", "params: {n: {default: 1}}\nsteps:\n  - {id: set, call: flow.set, input_template: {value: {n: \"{{ params.n }}\"}}, capture_as: value}"+rest,
		"later", "steps:\n  - {id: ask, call: human.ask, input_template: {message: Which, schema: {type: object, properties: {n: {type: [integer, boolean]}}, required: [n]}}, capture_as: value}"+rest)
	post := func(path string, form url.Values) string {
		form.Set("csrf", visitor{session: s.cookie.Value}.csrf())
		answer := s.do(http.MethodPost, path, form)
		require.Equal(t, http.StatusSeeOther, answer.Code, answer.Body.String())
		to := answer.Header().Get("Location")
		require.Contains(t, s.page(to), "when must give true or false")
		return to
	}
	require.Equal(t, "/runs/soon/s1?said=started", post("/workflows/soon/start", url.Values{"run_id": {"s1"}, "how": {"guided"}}))
	require.Equal(t, "/runs/soon/s2?said=forked", post("/runs/soon/s1/fork", url.Values{"new": {"s2"}}))
	s.plan("later", "l1", nil)
	waiting, err := s.hub.options.Think.Pending(t.Context(), "later", "l1")
	require.NoError(t, err)
	require.Equal(t, "/runs/later/l1?said=answered", post("/runs/later/l1/answer", url.Values{"step": {"ask"}, "digest": {waiting[0].Digest}, "field.0": {"3"}}))
	require.Equal(t, "/runs/later/l1?said=reset", post("/runs/later/l1/reset", url.Values{"to": {"v2"}}))
}

// TestTheButtonOfAFailedRunWorks: the new run begins before the answer that failed, of a step or
// of an item of a loop. A run that failed without an answer is forked under the present file.
func TestTheButtonOfAFailedRunWorks(t *testing.T) {
	t.Parallel()
	s := newSite(t, "asserts", "steps:\n  - {id: one, call: flow.set, input_template: {value: 1}}\n  - {id: bad, call: flow.assert, deps: [one], input_template: {that: false, message: no}}\n",
		"items", "steps:\n  - {id: each, foreach: \"[1, 2]\", as: n, call: llm.generate, input_template: {task: \"{{ n }}\"}, success_schema: {type: object}}\n")
	s.plan("asserts", "r1", nil)
	s.plan("items", "r1", nil)
	for i := range 6 { // refused, until both have failed
		_, _ = s.hub.options.Think.Next(t.Context(), think.NextInput{Workflow: "items", RunID: "r1", StepID: "each_" + strconv.Itoa(i/3), Attempt: i%3 + 1, ResultSnapshot: json.RawMessage(`1`)})
	}
	for path, label := range map[string]string{"/runs/asserts/r1": underPresentFile, "/runs/items/r1": "Run again from each_0"} {
		page := s.page(path)
		require.Contains(t, page, `<button class="yes">`+label+`</button>`)
		form := url.Values{"csrf": {visitor{session: s.cookie.Value}.csrf()}}
		for _, input := range regexp.MustCompile(`name="(from|adopt)" value="([^"]*)">`).FindAllStringSubmatch(page[:strings.Index(page, label)], -1) {
			form.Set(input[1], input[2])
		}
		answer := s.do(http.MethodPost, path+"/fork", form)
		require.Equal(t, http.StatusSeeOther, answer.Code, answer.Body.String())
		fork, _, _ := strings.Cut(answer.Header().Get("Location"), "?")
		require.Contains(t, s.page("/runs?q="+filepath.Base(fork)), `<span class="kind">by hub</span>`, "who forked it")
	}
}

// TestAValueThatARunLacks checks that an address with a wrong number does not call the run
// damaged.
func TestAValueThatARunLacks(t *testing.T) {
	s := newSite(t, "short", "steps:\n  - {id: a, call: flow.set, input_template: {value: 1}}\n")
	s.plan("short", "r1", nil)
	for _, answer := range []string{"0", "-1", "99999999999", "x"} {
		require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, "/runs/short/r1/value?answer="+answer, nil).Code, answer)
	}
}
