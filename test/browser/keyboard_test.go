package browser

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// canBeReached are the controls of a page that Tab should come to, in the order of the
// page; each is numbered. The rows of a timeline are one stop. Of radio buttons of one name it comes to one.
const canBeReached = `(() => { window.stops = new WeakMap(); let number = 0;
	return [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")].filter((each) => {
		if (each.disabled || each.type === "hidden" || each.tabIndex < 0 || each.matches("#events a") || !each.checkVisibility({visibilityProperty: true}) || each.classList.contains("skip")) return false;
		if (each.type === "radio" && !each.checked) return false;
		window.stops.set(each, ++number);
		return true;
	}).length; })()`

// focused says what has the focus: its number, whether it can be seen where it is, and
// whether it is marked.
const focused = `(() => { const on = document.activeElement;
	if (on === document.body || on === null) return "none";
	const box = on.getBoundingClientRect(), style = getComputedStyle(on), shape = on.querySelector(".box");
	const about = (window.stops?.get(on) ?? "?") + " " + on.tagName + " " + (on.id || on.getAttribute("href") || on.name || on.textContent.trim().slice(0, 40));
	const inside = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
	const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || shape !== null && getComputedStyle(shape).strokeWidth !== "1px";
	return about + (inside ? "" : " OUT OF SIGHT") + (marked ? "" : " UNMARKED"); })()`

// TestTheKeyboardReachesEverything: Tab goes through each page in its order, to each
// control that can be seen and out again, and what has the focus is seen and marked.
func TestTheKeyboardReachesEverything(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := demoRuns(t)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	for name, path := range pages() {
		p.open(h.base + path)
		p.until(`document.readyState === "complete"`)
		p.do(chromedp.KeyEvent(kb.Tab))
		require.Contains(t, eval[string](p, focused), "A #main", "%s: the way past the menu is first", name)
		count := eval[int](p, canBeReached)
		at := 0
		for range count + 5 {
			p.do(chromedp.KeyEvent(kb.Tab))
			on := eval[string](p, focused)
			if on == "none" || strings.Contains(on, "A #main") {
				break
			}
			at++
			assert.True(t, strings.HasPrefix(on, strconv.Itoa(at)+" "), "%s: expected stop %d, the focus is on %s", name, at, on)
			assert.NotContains(t, on, "OUT OF SIGHT", name)
			assert.NotContains(t, on, "UNMARKED", name)
		}
		assert.Equal(t, count, at, "%s: stops", name)
	}
}

// TestTheKeyboardInATimeline: the events are one stop of Tab, whatever their number.
// Arrow keys move among them, Enter opens one, Escape closes it where it was opened.
func TestTheKeyboardInATimeline(t *testing.T) {
	t.Parallel()
	wanted(t)
	const many = 2_000
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "many", "a goal")
	for step := range many {
		trace(t, folder, telemetry.Event{Type: telemetry.Retry, RunID: "many", Step: step + 1, Timestamp: "2026-01-02T03:04:05Z"})
	}
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "many?type=retry")
	p.until(row+`.includes("2000 retry")`, many)
	on := func(number int) {
		t.Helper()
		p.until(`document.activeElement.closest("#events > .row")?.value === $1`, number)
	}
	press := func(keys ...string) {
		for _, each := range keys {
			p.do(chromedp.KeyEvent(each))
		}
	}
	eval[bool](p, `document.getElementById("scroller").focus() === undefined`)
	press(kb.Home)
	on(1)
	press(kb.ArrowDown, kb.ArrowDown)
	on(3)
	press(kb.End)
	on(many)
	press(kb.ArrowUp)
	on(many - 1)
	require.NotContains(t, eval[string](p, focused), "OUT OF SIGHT")
	require.NotContains(t, eval[string](p, focused), "UNMARKED")
	press(kb.Enter)
	p.until(`!document.getElementById("details").hidden`)
	p.says("#details", "1999")
	press(kb.Tab)
	p.until(`document.activeElement.matches("#details [data-close]")`)
	press(kb.Escape)
	p.until(`document.getElementById("details").hidden`)
	on(many - 1)
	press(kb.Tab)
	p.until(`document.activeElement.closest("footer") !== null`)
}

// TestEscapeClosesAForm that the keyboard has opened.
func TestEscapeClosesAForm(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "known", "a goal")
	p := serve(t, folder, "127.0.0.1:0").enter()
	p.open(eval[string](p, `location.origin`) + runPage + "known")
	eval[bool](p, `document.querySelector(".act summary").focus() === undefined`)
	p.do(chromedp.KeyEvent(" "))
	p.until(`document.querySelector(".act").open`)
	p.do(chromedp.KeyEvent(kb.Tab))
	p.until(`document.activeElement.id === "goal"`)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector(".act").open && document.activeElement.matches(".act summary")`)
}
