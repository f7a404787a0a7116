package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestTheListOfRuns: its filters are in the address, its times the reader's, what was
// ticked stays when the list changes, and several runs are cancelled or deleted at once.
func TestTheListOfRuns(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	for _, name := range []string{"r1", "r2", "r3", "r4"} {
		savantIn(t, folder, "workflows", "run", "ships", "--name", name)
	}
	savantIn(t, folder, "workflows", "run", "repo_tour", "--name", "tour")
	savantIn(t, folder, "state", "cancel", "r4")
	savantIn(t, folder, "state", "fork", "r4", "--name", "r4b")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs")
	rows := `[...document.querySelectorAll("tbody tr")].map((each) => each.querySelector("a").innerText).sort().join(" ")`
	require.Equal(t, "r1 r2 r3 r4 r4b tour", eval[string](p, rows))
	p.says(`tr[data-key="ships/r4"]`, "superseded by r4b")
	p.open(h.base + "/runs/ships/r4")
	p.says("#facts", "Superseded by\nr4b")
	p.open(h.base + "/runs")
	p.says(`tr[data-key="ships/r1"] time`, "just now")
	require.Regexp(t, `20\d\d.*\d:\d\d:\d\d`, eval[string](p, `document.querySelector("tbody time").title`))

	p.chooses(`select[name="status"]`, "open")
	p.chooses(`select[name="waits"]`, "person")
	p.chooses(`select[name="since"]`, "hour")
	p.types(`input[name="workflow"]`, "ships")
	p.types(`input[name="q"]`, "R")
	p.types(`input[name="by"]`, "local")
	p.follow(`.filter button`)
	for name, value := range map[string]string{"status": "open", "waits": "person", "since": "hour", "workflow": "ships", "q": "R", "by": "local"} {
		require.Equal(t, []string{value}, p.queryOf(name))
	}
	require.Equal(t, "r1 r2 r3 r4b", eval[string](p, rows))

	p.stays()
	p.click(`input[value="ships/r1"]`)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r5")
	p.says("tbody", "r5")
	require.True(t, eval[bool](p, `document.querySelector('input[value="ships/r1"]').checked`))
	p.click(`input[value="ships/r2"]`)
	p.stayed()
	p.unfold("Cancel or delete several…")
	p.types(`#chosen-why`, "no more")
	p.follow(`#chosen button[value="cancel"]`)
	p.says(".said", "The runs are cancelled.")
	require.Equal(t, "r3 r4b r5", eval[string](p, rows))
	require.Contains(t, savantIn(t, folder, "state", "get", "r2"), "no more")

	p.unfold("Cancel or delete several…")
	p.follow(`#chosen button[value="delete"]`)
	p.says("#refused", "no run is chosen")
	require.Equal(t, "r3 r4b r5", eval[string](p, rows))
	p.click(`#chosen input[name="all"]`)
	p.follow(`#chosen button[value="delete"]`)
	p.says(".said", "in the trash")
	p.says("main", "No run fits.")
	p.open(h.base + "/runs")
	require.Equal(t, "r1 r2 r4 tour", eval[string](p, rows))
}

// TestTheBrowserTellsOfAQuestion: a button asks for it; then a new question is told once,
// also while the tab is hidden.
func TestTheBrowserTellsOfAQuestion(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	_, err := chromedp.CallBrowser(p.ctx, browser.SetPermission, browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: "notifications"},
		Setting: browser.PermissionSettingGranted, Origin: h.base, BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID})
	require.NoError(t, err)
	p.open(h.base + "/")
	p.stays()
	eval[bool](p, `window.told = [], window.Notification = class { static permission = "granted"; constructor(title, about) { told.push(title + ": " + about.body); } }, true`)
	require.Equal(t, "false", eval[string](p, `document.querySelector("#notify button").getAttribute("aria-pressed")`))
	p.click("#notify button")
	p.until(`document.querySelector("#notify button").getAttribute("aria-pressed") === "true"`)
	eval[bool](p, `Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true }) !== null`)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r2")
	p.until(`document.title.startsWith("(2)")`)
	require.Equal(t, []string{"Savant asks you: r2: sure"}, eval[[]string](p, `told`))
	p.click("#notify button")
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r3")
	eval[bool](p, `delete document.visibilityState && document.dispatchEvent(new Event("visibilitychange"))`)
	p.until(`document.title.startsWith("(3)")`)
	require.Len(t, eval[[]string](p, `told`), 1, "it was turned off")
	p.stayed()
}

// TestTheListOfWorkflowsIsLive: it shows a new file, and says that the hub is gone.
func TestTheListOfWorkflowsIsLive(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/workflows?q=s")
	p.says("tbody", "ships")
	p.stays()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "sails.yaml"), []byte("name: sails\nversion: \"1\"\nsteps:\n  - {id: a, call: flow.set, input_template: {value: 1}}\n"), 0o600))
	p.until(`document.dispatchEvent(new Event("visibilitychange")) && document.querySelector("tbody").innerText.includes("sails")`)
	h.stop()
	p.says("#live-note", "The hub does not answer.")
	p.stayed()
}
