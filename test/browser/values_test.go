package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// workflowIn writes a workflow into a folder and starts a run of it.
func workflowIn(t *testing.T, folder, name, text, run string, args ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", name+".yaml"), []byte("name: "+name+"\nversion: \"1\"\n"+text), 0o600))
	out, err := exec.CommandContext(t.Context(), "savant", append([]string{"workflows", "run", name, "--name", run, "--path", folder}, args...)...).CombinedOutput()
	if err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError), string(out))
	}
}

// TestListsOfTheAgentCountTokens and the steps of its memory.
func TestListsOfTheAgentCountTokens(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	decide, ended := goingOn(t, folder, "going")
	decide <- `{"action":"tool","tool_name":"git.status","args":{},"prompt_tokens":13000,"output_tokens":400}`
	decide <- `{"action":"finish","final":"Done.","prompt_tokens":788,"output_tokens":83}`
	ended()
	p := serve(t, folder, "127.0.0.1:0").enter()
	p.says("main", "13788 → 483")
	p.open(eval[string](p, `location.origin`) + "/diagnostics/agents")
	p.says("main", "13788 → 483")
	p.open(eval[string](p, `location.origin`) + runPage + "going?type=memory_snapshot")
	p.until(`document.querySelector("#events").innerText.includes("update_memory → 2 steps")`)
}

// TestALongApprovalKeepsItsButtonsInView: the decision stands at the bottom of the window,
// however long the question is, on a phone too.
func TestALongApprovalKeepsItsButtonsInView(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	workflowIn(t, folder, "long", "params: {notes: {type: string, default: \""+strings.Repeat("a line of many\\n", 5000)+"\"}}\nsteps:\n"+
		"  - {id: sure, call: human.approve, input_template: {message: \"Sure?\", notes: \"{{ params.notes }}\"}}\n", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	for _, width := range []int{1280, 390} {
		p.look(width, "light")
		p.open(h.base + "/runs/long/r1")
		require.Less(t, eval[int](p, `Math.round(document.querySelector('button[value="approve"]').getBoundingClientRect().top + scrollY)`), 3000)
		eval[bool](p, `document.querySelector(".ask").scrollIntoView() === undefined`)
		p.inView(`button[value="approve"]`)
		p.follow(`.ask a[href*="question=sure"]`)
		require.True(t, eval[bool](p, `document.body.textContent.length > 70000`), "all of it can be read")
	}
	p.open(h.base + "/")
	require.Less(t, eval[int](p, `document.querySelector(".shown + details .shown, .shown").closest("article").innerHTML.length`), 80_000, "the inbox has the beginning")
	require.False(t, eval[bool](p, `!!document.querySelector('button[value="approve"]')`), "what is not shown whole is not approved")
	p.follow(`article a.button`)
	p.says("main", "Approve")
}

// TestValuesAreShownWhole: a long capture, an artifact, a copy of a value, and the run as a
// file that can be imported.
func TestValuesAreShownWhole(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	workflowIn(t, folder, "large", "params: {text: {type: string, default: \""+strings.Repeat("0123456789", 30000)+"\"}}\nsteps:\n"+
		"  - {id: keep, call: flow.set, input_template: {value: \"{{ params.text }}\"}, capture_as: kept}\nartifacts: [{name: report, type: markdown, from: kept}]\n", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/large/r1")
	p.click("#captures > summary")
	p.says("#captures", "bytes in all")
	p.says("#outcome", "report")
	into := p.downloads()
	p.click(`#captures a[download]`)
	require.Equal(t, strings.Repeat("0123456789", 30000), string(p.downloaded(filepath.Join(into, "r1-kept"))))
	p.click(`#outcome a[download]`)
	require.Len(t, p.downloaded(filepath.Join(into, "r1-report")), 300000)
	p.unfold("Export")
	p.click(`form[action$="/export"] button`)
	p.downloaded(filepath.Join(into, "large-r1.export"))
	other := t.TempDir()
	savantIn(t, other, "state", "import", filepath.Join(into, "large-r1.export"))
	require.Contains(t, savantIn(t, other, "state", "list"), "r1")
	p.follow(`#captures a:not([download])`)
	p.until(`document.body.innerText.length === 300000`)
}

// TestReasonsComeFirst: a declined, a failed and a blocked run say why at the top, and what
// can be done is one click away.
func TestReasonsComeFirst(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	workflowIn(t, folder, "ships", strings.TrimPrefix(shipsYAML, "name: ships\nversion: \"1\"\n"), "r1")
	workflowIn(t, folder, "tool", "steps:\n  - {id: first, call: flow.set, input_template: {value: 1}, capture_as: one}\n  - {id: show, deps: [first], call: git.show, input_template: {ref: no-such-revision}}\n", "r1")
	workflowIn(t, folder, "count", "steps:\n  - {id: first, call: llm.generate, input_template: {task: x}, capture_as: first}\n  - {id: late, when: \"state.first.many\", call: flow.set, input_template: {value: 2}, deps: [first]}\n", "c1")
	savantIn(t, folder, "workflows", "answer", "c1", "first", "--result", `{"many": 2}`)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/ships/r1")
	p.types(`textarea[name="comment"]`, "not on a Friday")
	p.follow(`button[value="decline"]`)
	p.says("#outcome", "not on a Friday")
	p.open(h.base + "/runs/tool/r1")
	p.says("#outcome", "no git repository")
	p.says("#outcome .yes", "Run again from show")
	p.follow("#outcome .yes")
	p.until(`document.querySelector("h1").innerText !== "r1"`)
	p.says("#facts", "Fork of")
	p.says("#outcome", "no git repository") // the hub has carried it out again
	p.open(h.base + "/runs/count/c1")
	p.says("#outcome", "late")
	p.draws(".node.bad", "blocked")
	p.says("#times li:first-child", "late")
	p.says("#times li:first-child .word.bad", "blocked")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "count.yaml"), []byte("name: count\nversion: \"1\"\nsteps:\n  - {id: first, call: llm.generate, input_template: {task: x}, capture_as: first}\n  - {id: late, when: \"state.first.many == 2\", call: flow.set, input_template: {value: 2}, deps: [first]}\n"), 0o600))
	p.follow("#outcome .yes")
	p.says("#facts", "done")
}

// TestAModelsStepIsNotTakenSilently: without a model there is no way to continue here.
func TestAModelsStepIsNotTakenSilently(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, _ := planned(t, "r1")
	p := serve(t, folder, "127.0.0.1:0").enter()
	p.open(eval[string](p, `location.origin`) + "/runs/steps/r1")
	p.says("#outcome", "No model is set")
	p.until(`document.querySelector('form[action$="/go-on"]') === null`)
}

// TestRoundsOfARepeatDoNotOverlap in the graph: the label and the ways to other rounds.
func TestRoundsOfARepeatDoNotOverlap(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "round.yaml"), []byte("name: round\nversion: \"1\"\nsteps:\n  - {id: draft, call: llm.generate, input_template: {task: x}, capture_as: text}\noutputs: {good: \"{{ state.text.good }}\"}\n"), 0o600))
	workflowIn(t, folder, "polls", "steps:\n  - id: poll_until_it_is_good\n    call: flow.run\n    input_template: {workflow: round}\n    repeat: {until: result.good, max: 5}\n", "r1")
	for range 2 {
		savantIn(t, folder, "workflows", "answer", "r1", "poll_until_it_is_good_0/draft", "--result", `{"good": false}`)
		savantIn(t, folder, "workflows", "answer", "r1", "poll_until_it_is_good_1/draft", "--result", `{"good": false}`)
	}
	p := serve(t, folder, "127.0.0.1:0").enter()
	p.open(eval[string](p, `location.origin`) + "/runs/polls/r1?open=poll_until_it_is_good_1")
	p.draws(".inside", "round 2 of")
	boxes := `[...document.querySelector(".inside").querySelectorAll(":scope > text, :scope > a > text")].map((each) => each.getBoundingClientRect())`
	require.True(t, eval[bool](p, `(`+boxes+`).length > 1 && (`+boxes+`).every((a, i, all) => all.every((b, j) => i === j || a.right <= b.left || b.right <= a.left))`))
}

// smallTargets are what can be pressed and is less tall than a finger needs.
const smallTargets = `[...document.querySelectorAll("main a, main button, main summary, main label:has(input[type=checkbox]), main select, main .pick")].filter((each) => each.checkVisibility() && !each.closest("p, dd, li:not(.row), svg, h1, h2, h3") && each.getBoundingClientRect().height < 24).map((each) => each.outerHTML)`

// TestAPhoneShowsWhatAnEventIs: its type and its status; what can be pressed is as tall as
// a finger needs.
func TestAPhoneShowsWhatAnEventIs(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "failed", "--force-tool", "git.show", "--force-args", `{"ref": "no-such-revision"}`, "--force-finish")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.look(390, "light")
	p.open(h.base + runPage + "failed?view=timeline")
	p.until(`[...document.querySelectorAll("#events .kind")].some((each) => each.checkVisibility() && each.innerText === "tool_call_completed")`)
	p.until(`[...document.querySelectorAll("#events .mark .bad")].some((each) => each.checkVisibility() && each.getBoundingClientRect().width > 20)`)
	require.Empty(t, eval[[]string](p, smallTargets))
	p.open(h.base + runPage + "failed?view=grouped")
	p.says(".card header .bad", "failed")
	require.Empty(t, eval[[]string](p, smallTargets))
	p.open(h.base)
	require.Empty(t, eval[[]string](p, smallTargets))
	savantIn(t, folder, "workflows", "run", "hello", "--name", "chosen")
	p.open(h.base + "/runs")
	p.until(`document.querySelector(".pick") !== null`)
	require.Empty(t, eval[[]string](p, smallTargets))
	p.do(chromedp.Reload())
}
