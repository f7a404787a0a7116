package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// planned starts a run of a workflow with a loop of three items for a model, and a person
// after it.
func planned(t *testing.T, run string) (folder string, answer func(step, result string)) {
	t.Helper()
	folder = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "steps.yaml"), []byte(`name: steps
version: "1"
steps:
  - {id: list, call: flow.set, input_template: {value: [a, b, c]}, capture_as: list}
  - {id: each, foreach: list, as: one, call: llm.generate, input_template: {task: "{{ one }}"}, capture_as: all}
  - {id: rare, when: len(all) > 5, call: flow.set, input_template: {value: 1}, capture_as: rare}
  - {id: sure, deps: [all_done], call: human.approve, input_template: {message: "Sure?"}}
  - {id: all_done, call: flow.set, input_template: {value: "{{ all }}"}, capture_as: done}
`), 0o600))
	savant := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "savant", append(args, "--path", folder)...).CombinedOutput()
		if err != nil {
			require.ErrorAs(t, err, new(*exec.ExitError), string(out))
		}
	}
	savant("workflows", "run", "steps", "--name", run)
	return folder, func(step, result string) { t.Helper(); savant("workflows", "answer", run, step, "--result", result) }
}

// draws waits for a step of the graph to say something: it is no HTML, which has a text
// as it is shown.
func (p *tab) draws(selector, text string) {
	p.t.Helper()
	p.until(`[...document.querySelectorAll($1)].some((each) => each.textContent.includes($2))`, selector, text)
}

// TestTheSliderMovesThroughARun without loading the page, and back and forward lead
// through the steps that were chosen.
func TestTheSliderMovesThroughARun(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	answer("each_0", `"x"`)
	answer("each_1", `"y"`)
	answer("each_2", `"z"`)
	p := newProfile(t)
	h := serve(t, folder, "127.0.0.1:0")
	p.open(h.link)
	p.open(h.base + "/runs/steps/r1")
	p.says("#version-shown", "v4 of v4")
	eval[bool](p, `window.stays = true`)
	const move = `(() => { const slider = document.getElementById("version"); slider.focus(); slider.value = $1; slider.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`
	eval[bool](p, move, 2)
	p.says("#graph", "As it was at v2")
	p.draws(".node.issued", "1 of 3")
	require.Equal(t, []string{"2"}, p.queryOf("version"))
	require.Equal(t, "version", eval[string](p, `document.activeElement.id`), "the keyboard stays on the slider")
	eval[bool](p, move, 3)
	p.draws(".node.issued", "2 of 3")

	p.click(`.node a[href*="step=rare"]`)
	p.says("#panel", "undecided")
	p.click(`.node a[href*="step=list"]`)
	p.says("#panel h3", "list")
	p.do(chromedp.NavigateBack())
	p.says("#panel h3", "rare")
	p.do(chromedp.NavigateForward())
	p.says("#panel h3", "list")
	p.click(`a[rel="next"]`)
	p.says("#panel h3", "list")
	p.draws(".node.skipped", "rare")
	p.until(`window.stays === true`)

	// A link of the graph is reached and followed with the keyboard.
	eval[bool](p, `(document.querySelector('.node a[href*="step=sure"]').focus(), true)`)
	p.do(chromedp.KeyEvent("\r"))
	p.says("#panel", "waits for a person")
}

// TestTheWaterfallShowsWhenStepsWereAtWork: what failed is first, a loop is one row, an
// attempt that was refused has a bar of its own, and a row leads to its step.
func TestTheWaterfallShowsWhenStepsWereAtWork(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	workflowIn(t, folder, "times", "steps:\n  - {id: list, call: flow.set, input_template: {value: [a, b]}, capture_as: list}\n"+
		"  - {id: each, foreach: list, as: one, call: llm.generate, input_template: {task: \"{{ one }}\"}, capture_as: all}\n"+
		"  - {id: sure, deps: [each], call: human.approve, input_template: {message: \"Sure?\"}}\n"+
		"  - {id: show, deps: [sure], call: context.tree, success_schema: {type: object, required: [nothing]}, retry: {max: 1}}\n", "r1")
	savantIn(t, folder, "workflows", "answer", "r1", "each_0", "--result", `"x"`)
	savantIn(t, folder, "workflows", "answer", "r1", "each_1", "--result", `"x"`)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/times/r1")
	p.says("#times li:first-child", "waits for a person")
	p.says("#times li:last-child", "each")
	p.says("#times li:last-child", "2 of 2")
	p.follow(`button[value="approve"]`)
	savantIn(t, folder, "workflows", "run", "times", "--run-id", "r1")
	p.says("#times li:first-child", "show")
	p.says("#times li:first-child", "failed")
	require.Equal(t, []string{"refused", "bad"}, eval[[]string](p, `[...document.querySelectorAll("#times li:first-child rect")].map((each) => each.getAttribute("class"))`))
	bars := `[...document.querySelectorAll("#times li")].map((each) => [...each.querySelectorAll("rect")].map((bar) => Number(bar.getAttribute("x"))))`
	places := eval[[][]int](p, bars) // show, each, sure
	require.Greater(t, places[0][1], places[0][0])
	require.Greater(t, places[2][0], places[1][0])
	eval[bool](p, `window.stays = true`)
	p.click(`#times a[href*="step=each"]`)
	p.says("#panel h3", "each")
	p.inView("#panel h3")
	p.until(`window.stays && document.querySelector('#times a[aria-current]').textContent.includes("each")`)
}

// TestTheChosenStepHasAllAboutIt: why, what it was issued with, its result, and the calls of
// models for it; also of a step that has ended.
func TestTheChosenStepHasAllAboutIt(t *testing.T) {
	wanted(t)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"action":"finish","final":"\"a summary\"","model":"openai:some","prompt_tokens":700,"output_tokens":30}`)
	}))
	t.Cleanup(api.Close)
	t.Setenv("REASONING_API_URL", api.URL)
	folder := t.TempDir()
	workflowIn(t, folder, "sums", "steps:\n  - {id: list, call: flow.set, input_template: {value: [a, b]}, capture_as: list}\n"+
		"  - {id: sum, call: llm.generate, input_template: {task: \"Sum up {{ list }}.\"}, capture_as: text}\n  - {id: sure, deps: [sum], call: human.approve, input_template: {message: \"Sure?\"}}\n", "r1")
	t.Setenv("REASONING_API_URL", "")
	p := serve(t, folder, "127.0.0.1:0").enter()
	p.open(eval[string](p, `location.origin`) + "/runs/sums/r1?step=sum")
	p.says("#panel", "after list")
	p.says("#panel", `Sum up [`)
	p.says("#panel", "a summary")
	p.says("#panel", "openai:some")
	p.says("#panel", "700 → 30 tokens")
	p.look(390, "light")
	p.open(eval[string](p, `location.origin`) + "/runs/sums/r1")
	require.Empty(t, eval[[]string](p, smallTargets))
}

// TestARunMovesOnInThePage when another process answers a step.
func TestARunMovesOnInThePage(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	p := newProfile(t)
	h := serve(t, folder, "127.0.0.1:0")
	p.open(h.link)
	p.open(h.base + "/runs/steps/r1?step=each")
	p.draws(".node.issued", "0 of 3")
	eval[bool](p, `window.stays = true`)
	answer("each_0", `"x"`)
	p.draws(".node.issued", "1 of 3")
	p.says("#version-shown", "v2 of v2")
	p.says("#facts", "v2")
	p.until(`window.stays === true`)
	answer("each_1", `"x"`)
	answer("each_2", `"x"`)
	p.says("#asked", "Sure?")
}
