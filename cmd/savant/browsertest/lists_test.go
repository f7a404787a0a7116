package browsertest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheListOfRuns: its filters are in the address, its times the reader's, what was
// ticked stays when the list changes, and several runs are cancelled or deleted at once.
func TestTheListOfRuns(t *testing.T) {
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
