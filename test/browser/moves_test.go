package browser

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// stays marks a page, and stayed checks that it was not loaded again since.
func (p *tab) stays()  { p.t.Helper(); eval[bool](p, `window.stays = true`) }
func (p *tab) stayed() { p.t.Helper(); p.until(`window.stays === true`) }

// inView waits until an element can be seen without scrolling.
func (p *tab) inView(selector string) {
	p.t.Helper()
	p.until(`(() => { const box = document.querySelector($1)?.getBoundingClientRect(); return box !== undefined && box.height > 0 && box.top < innerHeight - 20 && box.bottom > 20; })()`, selector)
}

// TestAnAgentsPageLearnsThatItsRunEnded: its status, its buttons and its answer, by step
// too, and the lists that have the run.
func TestAnAgentsPageLearnsThatItsRunEnded(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	decide, ended := goingOn(t, folder, "going")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	tabs := map[string]*tab{}
	for _, path := range []string{runPage + "going", runPage + "going?view=grouped", "/", "/diagnostics/agents"} {
		tabs[path] = p.another()
		tabs[path].open(h.base + path)
		tabs[path].says("main .status", "running")
		tabs[path].stays()
	}
	decide <- `{"action":"tool","tool_name":"context.read","args":{"path":"a-file-that-is-not-there.txt"},"reasoning":"look first"}`
	tabs[runPage+"going?view=grouped"].says(".split", "context.read")
	tabs[runPage+"going?view=grouped"].until(`document.querySelector(".call .copy") !== null`)
	decide <- `{"action":"finish","final":"It is done."}`
	ended()
	for path, each := range tabs {
		each.until(`![...document.querySelectorAll("main .facts .status, main td .status")].some((each) => each.innerText.includes("running"))`)
		each.stayed()
		each.until(`[...document.querySelectorAll(".copy")].every((each) => each.previousElementSibling.matches("pre"))`) // what a script adds keeps its place
		if strings.HasPrefix(path, runPage) {
			each.says(".said-last", "It is done.")
			each.until(`document.querySelector('form[action$="/cancel"]') === null && document.querySelector('form[action$="/resume"]') !== null`)
		}
	}
}

// TestACancelledRunSaysSoInItsPage after its button was pressed.
func TestACancelledRunSaysSoInItsPage(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	_, ended := goingOn(t, folder, "going")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "going?view=timeline")
	p.follow(`form[action$="/cancel"] button`)
	ended()
	p.says(".facts .status", "canceled")
}

// TestListsAreLive: runs of workflows that begin and move on appear where the reader looks.
func TestListsAreLive(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	list := p.another()
	list.open(h.base + "/runs")
	for _, each := range []*tab{p, list} {
		each.says("main", "r1")
		each.stays()
	}
	savantIn(t, folder, "workflows", "run", "steps", "--name", "r2")
	for _, each := range []*tab{p, list} {
		each.says("main", "r2")
	}
	for _, step := range []string{"each_0", "each_1", "each_2"} {
		answer(step, `"x"`)
	}
	p.says(".tile.calls", "1")
	list.says("main", "for a person")
	for _, each := range []*tab{p, list} {
		each.stayed()
	}
}

// TestPagesAboutSeveralRunsAreLive: the numbers and a comparison follow their runs; the page
// of a tool keeps what its call brought.
func TestPagesAboutSeveralRunsAreLive(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	savantIn(t, folder, "state", "fork", "r1", "--from", "v1", "--name", "r2")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	both, tool := p.another(), p.another()
	p.open(h.base + "/numbers")
	both.open(h.base + "/compare?left=steps%2Fr1&right=steps%2Fr2")
	tool.open(h.base + "/tools/context.tree")
	tool.follow(".answer .actions button")
	tool.says("main", "Result")
	for _, each := range []*tab{p, both, tool} {
		each.stays()
	}
	p.says("main", "running 2")
	both.says("main", "waiting for a model at each_0")
	for _, step := range []string{"each_0", "each_1", "each_2"} {
		answer(step, `"x"`)
	}
	p.says("main", "waiting 1")
	both.says("main", "waiting for a person")
	tool.says("main", "Result")
	for _, each := range []*tab{p, both, tool} {
		each.stayed()
	}
}

// TestSomebodyElseAnswersWhileOneTypes: the form that is gone says so where it stood, with
// what was typed.
func TestSomebodyElseAnswersWhileOneTypes(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/ships/r1")
	p.types(`textarea[name="comment"]`, "my long thought")
	p.stays()
	other := p.another()
	other.open(h.base + "/runs/ships/r1")
	other.follow(`button[value="approve"]`)
	p.says(".gone", "no longer asked")
	require.Equal(t, "my long thought", eval[string](p, `document.querySelector(".gone textarea").value`))
	p.inView(".gone")
	p.until(`document.querySelector('button[value="approve"]') === null`)
	p.stayed()
}

// TestALateAnswerKeepsItsText: without a script two people answer, and the second one's page
// is the run's, with what was written.
func TestALateAnswerKeepsItsText(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	require.NoError(t, call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	p.open(h.base + "/runs/ships/r1")
	p.types(`textarea[name="comment"]`, "my long thought")
	other := p.another()
	other.open(h.base + "/runs/ships/r1")
	other.follow(`button[value="approve"]`)
	p.follow(`button[value="approve"]`)
	p.says("h1", "r1")
	p.says("main .problem", "no longer waits for an answer")
	p.says("main .problem", "my long thought")
}

// TestTwoClicksAnswerOnce: the second click of a double click sends nothing.
func TestTwoClicksAnswerOnce(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/ships/r1")
	p.do(chromedp.DoubleClick(chromedp.CSS(`button[value="approve"]`)))
	p.says(".said", "The answer is recorded.")
}

// TestRefusedFormsKeepTheirPage: a reset without the tick, a fork to a version that is not
// there, a file that is no export.
func TestRefusedFormsKeepTheirPage(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, _ := planned(t, "r1")
	savantIn(t, folder, "state", "cancel", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/steps/r1")
	p.unfold("Fork")
	p.types("#fork-from", "v99")
	p.types("#fork-new", "mine")
	p.follow(`form[action$="/fork"] button`)
	p.says("h1", "r1")
	p.says("main .problem", "v99")
	require.Equal(t, "v99", eval[string](p, `document.querySelector("details[open] #fork-from").value`))
	require.Equal(t, "mine", eval[string](p, `document.querySelector("#fork-new").value`))

	file := filepath.Join(t.TempDir(), "no-export")
	require.NoError(t, os.WriteFile(file, []byte("not an export"), 0o600))
	p.open(h.base + "/runs")
	p.unfold("Import")
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#export"), []string{file}))
	p.follow(`form[action="/runs/import"] button`)
	p.says("h1", "Runs")
	p.says("main .problem", "export")
	p.says("main", "r1")
}

// TestAResetWithoutItsTickKeepsItsPage.
func TestAResetWithoutItsTickKeepsItsPage(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/ships/r1")
	p.follow(`button[value="decline"]`)
	p.says("#facts", "failed")
	p.unfold("Reset")
	p.types("#reset-to", "sure")
	p.follow(`form[action$="/reset"] button`)
	p.says("h1", "r1")
	p.says("main .problem", "although it has ended")
	require.Equal(t, "sure", eval[string](p, `document.querySelector("details[open] #reset-to").value`))
}

// TestALinkOnAnotherSiteLeadsToTheRun: a person with a session who follows a link on another
// site sees the run.
func TestALinkOnAnotherSiteLeadsToTheRun(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<a id="run" href="` + h.base + `/runs/ships/r1?step=where">the run</a>`))
	}))
	defer chat.Close()
	p.open(strings.Replace(chat.URL, "127.0.0.1", "localhost", 1))
	p.do(chromedp.Click(chromedp.CSS("#run")))
	p.says("h1", "r1")
	require.Equal(t, []string{"where"}, p.queryOf("step"))
	stranger := newProfile(t)
	stranger.open(strings.Replace(chat.URL, "127.0.0.1", "localhost", 1))
	stranger.do(chromedp.Click(chromedp.CSS("#run")))
	stranger.says("main", "needs the link")
}

// TestAStepOfTheListIsShownInView, wherever in the list it is, on a phone too.
func TestAStepOfTheListIsShownInView(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "loop.yaml"), []byte(`name: loop
version: "1"
limits: {items: 300}
params: {many: {type: array, default: [`+strings.Repeat("1, ", 299)+`1]}}
steps:
  - {id: each, foreach: params.many, as: one, call: flow.set, input_template: {value: "{{ one }}"}, capture_as: all}
  - {id: sure, deps: [each], call: human.approve, input_template: {message: "Sure?"}}
`), 0o600))
	_, _ = exec.CommandContext(t.Context(), "savant", "workflows", "run", "loop", "--name", "r1", "--path", folder).CombinedOutput()
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	for _, width := range []int{1280, 390} {
		p.look(width, "light")
		p.open(h.base + "/runs/loop/r1?steps=2")
		p.stays()
		p.click(`#steps a[href*="step=each_250"]`)
		p.says("#panel h3", "each_250")
		p.inView("#panel h3")
		p.until(`document.elementFromPoint(document.querySelector("#panel h3").getBoundingClientRect().x + 5, document.querySelector("#panel h3").getBoundingClientRect().y + 5).closest("#panel") !== null`)
		p.stayed()
	}
}

// TestTheInboxAnswersInPlace: the overview has what a person is asked, and stays after an
// answer.
func TestTheInboxAnswersInPlace(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r2")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.says("#inbox", "Ship it?")
	p.until(`document.title.startsWith("(2)")`)
	p.types(`#inbox article:first-of-type textarea`, "fine")
	p.follow(`#inbox article:first-of-type button[value="approve"]`)
	p.says(".said", "The answer is recorded.")
	p.says("h1", "Overview")
	p.says("#inbox", "Where to?")
	require.JSONEq(t, `{"approved":true,"comment":"fine"}`, captured(t, folder, eval[string](p, `[...document.querySelectorAll("#inbox article")].find((each) => each.innerText.includes("Where to?")).querySelector("h3 a").innerText`), "sure"))
	p.stays()
	savantIn(t, folder, "state", "cancel", "r1")
	savantIn(t, folder, "state", "cancel", "r2")
	p.until(`document.querySelector("#inbox") === null && !document.title.startsWith("(")`)
	p.stayed()
}
