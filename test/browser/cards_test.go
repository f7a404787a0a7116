package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// answered makes a run of the agent with three steps, which ends with an answer in Markdown.
func answered(t *testing.T, folder string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "file.txt"), []byte("a line\n"), 0o600))
	decide, ended := goingOn(t, folder, "going")
	decide <- `{"action":"tool","tool_name":"context.read","args":{"path":"file.txt"},"reasoning":"The goal names the file.","prompt_tokens":1200,"output_tokens":33}`
	decide <- `{"action":"tool","calls":[{"tool_name":"context.read","args":{"path":"nothing.txt"}},{"tool_name":"context.tree","args":{}}],"reasoning":"Two more looks."}`
	decide <- `{"action":"finish","final":"# What it is\n\nA **file**, see [bank.example](https://evil.example/x).\n\n<script>document.title = 'broken'</script><img src=x onerror=\"document.title = 'broken'\">\n\nsk-ant-api03-` + strings.Repeat("ab1", 31) + `-AAAAAA\n"}`
	ended()
}

// TestStepsOfTheAgentAreCards: what was decided and why, the calls, and what failed; a card
// alone has the prompt, what in it differs from the step before, and the reply.
func TestStepsOfTheAgentAreCards(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	answered(t, folder)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "going")
	p.says("#step-1", "The goal names the file.")
	p.says("#step-1", "1200 → 33 tokens")
	p.says("#step-1 .call", `{"path":"file.txt"}`)
	p.says("#step-2.failed h3", "failed")
	p.says("#step-2", "nothing.txt")
	p.click("#step-1 .call summary")
	p.says("#step-1 .call details", "a line")
	p.follow("#step-2 h3 a")
	require.Equal(t, []string{"2"}, p.queryOf("step"))
	p.says(".exchange", "as in step 1")
	p.says(".exchange", "differs from step 1")
	p.says(".difference .more", "+")
	p.until(`[...document.querySelectorAll(".difference .more")].some((each) => each.textContent.includes("The goal names the file."))`)
	p.says(".exchange > pre", "Two more looks.")
	p.follow(".exchange .whole a")
	p.says("body", "=== goal")
	p.says("body", "=== reply")
	p.says("body", "The goal names the file.")
	p.do(chromedp.NavigateBack())
	p.follow(`.pager [rel="prev"]`)
	p.says("#step-1", "The goal names the file.")
	p.says(".exchange > pre", "1200")
	p.until(`document.querySelector(".difference") === null`) // nothing came before
	p.follow(`.pager [rel="next"]`)
	p.follow(`#step-2 .kind a[href*="timeline"]`)
	p.says("#events", "nothing.txt")
	require.NotContains(t, eval[string](p, `document.querySelector("#events").innerText`), "1 tool")

	raw := ""
	require.NoError(t, filepath.WalkDir(filepath.Join(folder, ".savant", "sessions", "going.outputs"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			data, failed := os.ReadFile(path)
			raw, err = raw+string(data), failed
		}
		return err
	}))
	require.Contains(t, raw, "Two more looks.")
	require.NotContains(t, raw, "ab1ab1ab1", "what is kept has no secrets")
}

// TestTypesOfEventsAreChips that count, and that are turned on and off.
func TestTypesOfEventsAreChips(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	answered(t, folder)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "going?view=timeline")
	p.says(`.chip[data-key="tool_call_completed"] .number`, "3")
	p.until(`document.querySelector('.chip[data-key="policy_denied"]') === null`)
	p.follow(`.chip[data-key="tool_call_completed"]`)
	p.follow(`.chip[data-key="run_finished"]`)
	require.Equal(t, []string{"tool_call_completed", "run_finished"}, p.queryOf("type"))
	p.until(`document.querySelectorAll("#events li").length === 4`)
	p.follow(`.chip[data-key="tool_call_completed"][aria-current]`)
	p.until(`document.querySelectorAll("#events li").length === 1`)
	p.follow(`.views a:not([aria-current])`)
	p.until(`document.querySelectorAll(".card").length === 1`) // the step that has such an event
}

// TestAnAnswerIsFormattedWithoutItsMarkup: the host of a link is shown, no HTML runs, and a
// key shows the text as it was written.
func TestAnAnswerIsFormattedWithoutItsMarkup(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	answered(t, folder)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "going")
	p.says(".markdown h1", "What it is")
	p.says(".markdown strong", "file")
	p.says(".markdown a", "bank.example (evil.example)")
	p.until(`document.querySelector(".markdown script, .markdown img") === null && document.title.startsWith("going")`)
	require.NotContains(t, eval[string](p, `document.querySelector("[data-key=answer]").innerText`), "**file**")
	p.do(chromedp.KeyEvent("r"))
	p.says("details.raw pre", "**file**")
	p.do(chromedp.KeyEvent("r"))
	p.until(`!document.querySelector("details.raw").open`)

	workflowIn(t, folder, "asks", "steps:\n  - {id: sure, call: human.approve, input_template: {message: \"Really **ship** it?\"}}\n", "r1")
	for _, path := range []string{"/runs/asks/r1", "/"} {
		p.open(h.base + path)
		p.says(".ask .shown", "Really **ship** it?")
		p.do(chromedp.KeyEvent("r"))
		p.says(".ask details.formatted strong", "ship")
	}
}

// TestThePaletteReachesWhatThePageOffers: by its key, by a button, and not while somebody
// types; a button is only reached, and single keys can be turned off.
func TestThePaletteReachesWhatThePageOffers(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, _ := planned(t, "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/steps/r1")
	press := func(keys ...string) {
		for _, each := range keys {
			p.do(chromedp.KeyEvent(each))
		}
	}
	// With the protocol a key whose default was prevented still types where the focus is then.
	opened := func() {
		t.Helper()
		p.until(`document.getElementById("palette").open`)
		eval[bool](p, `(document.querySelector("#palette input").value = "") === ""`)
	}
	take := func() {
		eval[bool](p, `!document.querySelector("#palette input").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true}))`)
	}
	const open = `document.getElementById("palette").open`
	press("k")
	opened()
	press(kb.Escape)
	p.until(`!` + open)
	p.click(".palette-opens")
	opened()
	press("v", "e", "r", "i", "f", "y")
	p.until(`document.querySelectorAll("#palette li").length === 1`)
	p.until(`document.activeElement.getAttribute("aria-activedescendant") === document.querySelector('#palette [aria-selected="true"]').id`)
	take()
	p.until(`!` + open + ` && document.activeElement.matches('form[action$="/verify"] button')`)
	press("/")
	p.until(`document.activeElement.matches("input[type=search]")`)
	press("k")
	p.until(`document.activeElement.value.endsWith("k") && !` + open)
	eval[bool](p, `document.activeElement.blur() === undefined`)
	press("k")
	opened()
	press("r", "u", "n", "s", " ", "p", "a", "g", "e")
	eval[bool](p, `window.stays = true`)
	take()
	p.until(`window.stays === undefined && location.pathname === "/runs" && document.querySelector(".palette-opens") !== null`)
	press("k")
	opened()
	press("o", "f", "f", " ", "k", "e", "y", "s")
	take()
	p.until(`!` + open)
	press("k")
	p.until(`!` + open)
	p.click(".palette-opens")
	opened()
	press("o", "n", " ", "k", "e", "y", "s")
	take()
	press("k")
	opened()
}

// TestARunOnPaper has no forms, nothing folded and nothing cut.
func TestARunOnPaper(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	answer("each_0", `"`+strings.Repeat("a long text ", 200)+`"`)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/steps/r1?step=each_0")
	require.NoError(t, call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	p.until(`[...document.querySelectorAll("form, nav, footer, .palette-opens")].every((each) => !each.checkVisibility())`)
	p.until(`document.querySelector("#history table").checkVisibility({contentVisibilityAuto: true}) && document.querySelector("#history table").getBoundingClientRect().height > 50`)
	p.until(`/\d\d:\d\d/.test(getComputedStyle(document.querySelector("#facts time"), "::after").content)`) // the exact time: "just now" is soon wrong
	p.until(`[...document.querySelectorAll("main pre, .scroll, .panel")].every((each) => each.scrollHeight <= each.clientHeight + 2)`)
}
