package browser

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

const runPage = "/diagnostics/agents/"

// lastRow is the text of the last row of a timeline, and row that of the row of a number.
const (
	lastRow = `document.querySelector("#events li:last-child")?.innerText ?? ""`
	row     = `(document.querySelector("#events li[value='" + $1 + "']")?.innerText ?? "")`
)

// TestLive follows a run that goes on in another process, with the switch off and on
// again, and across a new start of the hub.
func TestLive(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	decide, ended := goingOn(t, folder, "going")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "going?view=timeline")
	p.says("#live-state", "Connected.")
	decide <- `{"action":"tool","tool_name":"git.status","args":{},"reasoning":"look first"}`
	p.until(`(` + lastRow + `).includes("memory_snapshot") && document.querySelector("#events").innerText.includes("tool_call_completed")`)

	p.click("#live-switch")
	p.says("#live-switch", "Live: off")
	before := eval[int](p, `document.querySelectorAll("#events li").length`)
	other := p.another()
	other.open(h.base + runPage + "going?view=timeline")
	decide <- `{"action":"reason","reasoning":"think again"}`
	other.until(`document.querySelector("#events").innerText.includes("think again")`)
	require.Equal(t, before, eval[int](p, `document.querySelectorAll("#events li").length`), "nothing comes while it is off")
	p.click("#live-switch")
	p.until(`document.querySelector("#events").innerText.includes("think again")`)

	h.stop()
	p.says("#live-state", "does not answer")
	decide <- `{"action":"finish","final":"It is done."}`
	ended()
	again := h.again(folder)
	other.open(again.link) // where the session of the first hub has ended
	p.says("#live-state", "Connected.")
	p.until(`(` + lastRow + `).includes("run_finished")`)
	require.Equal(t, 1, eval[int](p, `[...document.querySelectorAll("#events .kind")].filter((each) => each.innerText === "run_finished").length`))
}

// TestOnlyNewRowsAreRequested: a page that follows a run requests no row that it has.
func TestOnlyNewRowsAreRequested(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "one", "a goal")
	retry := func(step int) {
		trace(t, folder, telemetry.Event{Type: telemetry.Retry, RunID: "one", Step: step, Timestamp: "2026-01-02T03:04:05Z"})
	}
	for step := range 3 {
		retry(step + 1)
	}
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "one?type=retry")
	p.says("#live-state", "Connected.")
	for step := 4; step <= 6; step++ {
		retry(step)
		p.until(row+`.includes($1 + " retry")`, step)
	}
	asked := eval[[]int](p, `performance.getEntriesByType("resource").map((each) => new URL(each.name)).filter((each) => each.pathname.endsWith("/rows")).map((each) => Number(each.searchParams.get("from")))`)
	require.Subset(t, asked, []int{3, 4, 5})
	require.GreaterOrEqual(t, slices.Min(asked), 3)
}

// TestFiltersAndDetailsAreInTheAddress: a filter, an event and the way back to them.
func TestFiltersAndDetailsAreInTheAddress(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "known", "where is it")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "known?view=timeline")
	all := eval[int](p, `document.querySelectorAll("#events li").length`)
	p.follow(`.chip[data-key="reasoning_step"]`)
	require.Equal(t, []string{"reasoning_step"}, p.queryOf("type"))
	p.until(`[...document.querySelectorAll("#events .kind")].length > 0`)
	require.Equal(t, []string{"reasoning_step"}, eval[[]string](p, `[...new Set([...document.querySelectorAll("#events .kind")].map((each) => each.innerText))]`))
	require.Less(t, eval[int](p, `document.querySelectorAll("#events li").length`), all)

	p.click("#events li:first-child a")
	p.until(`!document.getElementById("details").hidden`)
	p.says("#details", "Reasoning")
	require.Len(t, p.queryOf("event"), 1)
	first := eval[string](p, `document.getElementById("details").innerText`)
	p.click("#events li:last-child a")
	p.until(`document.getElementById("details").innerText !== $1`, first)
	p.do(chromedp.NavigateBack())
	p.until(`document.getElementById("details").innerText === $1`, first)
	p.do(chromedp.NavigateBack())
	p.until(`document.getElementById("details").hidden`)
	p.do(chromedp.NavigateForward())
	p.until(`document.getElementById("details").innerText === $1`, first)
	require.Equal(t, []string{"reasoning_step"}, p.queryOf("type"), "the filter stays")
	p.do(chromedp.Reload())
	p.until(`document.getElementById("details").innerText === $1`, first)
	p.click("#details [data-close]")
	p.until(`document.getElementById("details").hidden`)

	trace(t, folder, telemetry.Event{Type: telemetry.ReasoningStep, RunID: "known", Step: 77, Action: "reason", Timestamp: "2026-01-02T03:04:05Z"})
	p.follow(`.filter a[href*="type="]`) // Refresh
	p.until(`(` + lastRow + `).includes("77 reason")`)
	p.follow(`.views a:not([aria-current])`)
	p.says(".card header", "Step #")
	require.Equal(t, []string{"grouped"}, p.queryOf("view"))
}

// TestFiftyThousandEventsScroll: the page has the rows that can be seen, wherever it is
// scrolled to, and stays as small when 5,000 further events come at once.
func TestFiftyThousandEventsScroll(t *testing.T) {
	t.Parallel()
	wanted(t)
	const many, burst = 50_000, 5_000
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "many", "a goal")
	made := func(from, count int) (events []telemetry.Event) {
		for i := range count {
			events = append(events, telemetry.Event{Type: telemetry.Retry, RunID: "many", Step: from + i, Timestamp: "2026-01-02T03:04:05Z"})
		}
		return events
	}
	trace(t, folder, made(1, many)...)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "many?type=retry")
	p.until(row+`.includes("50000 retry")`, many)
	small := func() {
		t.Helper()
		require.Less(t, eval[int](p, `document.querySelectorAll("#events li").length`), 150)
	}
	small()
	for _, number := range []int{1, 25_000, 49_000, 12_345} {
		eval[bool](p, `(document.getElementById("scroller").scrollTop = ($1 - 3) * 32) >= -64`, number)
		p.until(row+`.includes($1 + " retry")`, number)
		small()
	}
	trace(t, folder, made(many+1, burst)...)
	p.says("#live-count", "55,000 of")
	p.until(row+`.includes("12345 retry")`, 12_345)
	eval[bool](p, `(document.getElementById("scroller").scrollTop = 1e9) > 0`)
	p.until(row+`.includes("55000 retry")`, many+burst)
	trace(t, folder, made(many+burst+1, 1)...)
	p.until(row+`.includes("55001 retry")`, many+burst+1) // the end stays in view
	small()
}

// TestManyTabsShareOneStream opens more tabs than a browser has connections.
func TestManyTabsShareOneStream(t *testing.T) {
	t.Parallel()
	wanted(t)
	count := 10
	if os.Getenv("CI") == "true" {
		count = 50
	}
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "one", "a goal")
	h := serve(t, folder, "127.0.0.1:0")
	tabs := []*tab{h.enter()}
	for len(tabs) < count {
		tabs = append(tabs, tabs[0].another())
	}
	for _, each := range tabs {
		each.open(h.base + runPage + "one?view=timeline")
	}
	see := func(text string) {
		t.Helper()
		for _, each := range tabs {
			each.until(`(`+lastRow+`).includes($1)`, text)
		}
	}
	for step := range 3 {
		trace(t, folder, telemetry.Event{Type: telemetry.Retry, RunID: "one", Step: step + 100, Timestamp: "2026-01-02T03:04:05Z"})
		see(fmt.Sprint(step+100, " retry"))
	}
	tabs[0].open("about:blank") // it held the stream: another takes over
	tabs = tabs[1:]
	trace(t, folder, telemetry.Event{Type: telemetry.Retry, RunID: "one", Step: 200, Timestamp: "2026-01-02T03:04:05Z"})
	see("200 retry")
}

// TestASlowTabLosesNothing: 5,000 events come at once while a tab has a twentieth of the
// processor.
func TestASlowTabLosesNothing(t *testing.T) {
	t.Parallel()
	wanted(t)
	const burst = 5_000
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "one", "a goal")
	h := serve(t, folder, "127.0.0.1:0")
	slow := h.enter()
	slow.open(h.base + runPage + "one?type=retry")
	slow.says("#live-state", "Connected.")
	require.NoError(t, call(slow, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 20}))
	var events []telemetry.Event
	for step := range burst {
		events = append(events, telemetry.Event{Type: telemetry.Retry, RunID: "one", Step: step + 1, Timestamp: "2026-01-02T03:04:05Z"})
	}
	trace(t, folder, events...)
	slow.until(row+`.includes("5000 retry")`, burst)
	require.NotContains(t, eval[string](slow, `document.querySelector("main").innerText`), "None of the")
	require.Less(t, eval[int](slow, `document.querySelectorAll("#events li").length`), 150)
}

// deafness lets a page lose the messages of other tabs, as a frozen one and one that is
// kept for "back" may, and say whether it can be seen.
const deafness = `
  window.deaf = false;
  const Whole = BroadcastChannel;
  window.BroadcastChannel = class extends Whole {
    addEventListener(kind, take) { super.addEventListener(kind, (event) => { if (!window.deaf) take(event); }); }
  };
  window.asking = 0;
  const whole = window.fetch;
  window.fetch = (...asked) => { window.asking++; return whole(...asked).finally(() => { window.asking--; }); };
  let seen = "visible";
  Object.defineProperty(document, "visibilityState", { get: () => seen });
  window.become = (state) => { seen = state; document.dispatchEvent(new Event("visibilitychange")); return true; };`

// TestATabThatHeardNothingCatchesUp: what was written while a tab was hidden or kept for
// "back" is there when it can be seen again, each event once, though no message says so.
func TestATabThatHeardNothingCatchesUp(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "one", "a goal")
	h := serve(t, folder, "127.0.0.1:0")
	first := h.enter() // it has the stream
	first.open(h.base + runPage + "one?type=retry")
	first.says("#live-state", "Connected.")
	tab := first.another()
	_, err := chromedp.Call(tab.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: deafness})
	require.NoError(t, err)
	tab.open(h.base + runPage + "one?type=retry")
	tab.says("#live-state", "Connected.")
	written := 0
	eval[bool](tab, `window.deaf = true`) // until the end: a late message would do what is tested
	for _, missed := range []struct{ leave, come string }{
		{`become("hidden")`, `become("visible")`},
		{`true`, `dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`},
	} {
		require.True(t, eval[bool](tab, missed.leave))
		tab.until(`asking === 0`) // what it asked before would bring what is written next
		for range 150 {           // more than one request brings
			written++
			trace(t, folder, telemetry.Event{Type: telemetry.Retry, RunID: "one", Step: written, Timestamp: "2026-01-02T03:04:05Z"})
		}
		first.until(row+`.includes($1 + " retry")`, written)
		require.NotContains(t, eval[string](tab, row, written), "retry")
		require.True(t, eval[bool](tab, missed.come))
		tab.until(row+`.includes($1 + " retry")`, written)
	}
	for number := 1; number <= written; number += 10 {
		eval[bool](tab, `(document.getElementById("scroller").scrollTop = ($1 - 3) * 32) >= -96`, number)
		tab.until(row+`.includes($1 + " retry")`, number)
		require.Equal(t, 1, eval[int](tab, `document.querySelectorAll("#events li[value='" + $1 + "']").length`, number))
	}
}
