package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStartInThePage: a run that the hub carries out, and one for a client.
func TestStartInThePage(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/workflows/ships")
	p.types(`[name="field.0"]`, "Really?") // message is written before count
	p.types(`[name="field.1"]`, "1.5")
	p.types(`[name="run_id"]`, "r1")
	p.follow(`.answer button.yes`)
	p.says(`[id="field.1-wrong"]`, "Expected integer")
	require.Equal(t, "r1", eval[string](p, `document.querySelector('[name="run_id"]').value`))
	p.types(`[name="field.1"]`, "3")
	p.follow(`.answer button.yes`)
	p.says(".said", "The run has begun.")
	p.says("#asked .shown", "Really?")
	p.follow(`button[value="approve"]`)
	p.says("#asked", "Where to?") // the hub went on with it

	p.open(h.base + "/workflows/ships")
	p.types(`[name="run_id"]`, "r2")
	p.click(`input[value="guided"]`)
	p.follow(`.answer button.yes`)
	p.says(".said", "The run has begun.")
	p.says("#asked .shown", "Ship it?")
	p.says("#asked", `think.plan {"workflow": "ships", "run_id": "r2"}`)
}

// TestForkResetAndCancelInThePage: a run begins anew, goes back, and ends.
func TestForkResetAndCancelInThePage(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	answer("each_0", `"x"`)
	answer("each_1", `"y"`)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/steps/r1")
	p.says("#version-shown", "v3 of v3")

	p.unfold("Fork")
	p.types("#fork-from", "v2")
	p.types("#fork-new", "r2")
	p.follow(`form[action$="/fork"] button`)
	p.says("h1", "r2")
	p.says(".said", "begins with the answers")
	p.says("#facts", "r1, v2")
	p.draws(".node.issued", "1 of 3")

	p.open(h.base + "/runs/steps/r1")
	p.unfold("Reset")
	p.types("#reset-to", "nowhere")
	p.follow(`form[action$="/reset"] button`)
	p.says("main", "nowhere")
	p.open(h.base + "/runs/steps/r1")
	p.unfold("Reset")
	p.types("#reset-to", "each_1")
	p.follow(`form[action$="/reset"] button`)
	p.says(".said", "back at the version you chose")
	p.draws(".node.issued", "1 of 3")
	p.draws("#history", "reset to v2")

	for _, result := range []string{"each_1", "each_2"} {
		answer(result, `"z"`)
	}
	p.says("#asked", "Sure?")
	p.follow(`button[value="approve"]`)
	p.says("#facts", "done")

	p.open(h.base + "/runs/steps/r2")
	p.unfold("Cancel")
	p.types("#cancel-why", "enough of it")
	p.follow(`form[action$="/cancel"] button`)
	p.says(".said", "The run is cancelled.")
	p.says("#outcome", "enough of it")
	require.Contains(t, savantIn(t, folder, "state", "get", "r2", "--json"), `"cancelled"`)
}

// TestGoOnInThePage: a client began a run, and the hub carries it on.
func TestGoOnInThePage(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "looks.yaml"), []byte(`name: looks
version: "1"
steps:
  - {id: log, call: context.tree, capture_as: log}
  - {id: last, call: flow.set, input_template: {value: 7}, capture_as: last, deps: [log]}
`), 0o600))
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/workflows/looks")
	p.types(`[name="run_id"]`, "r1")
	p.click(`input[value="guided"]`)
	p.follow(`.answer button.yes`)
	p.draws(".node.issued", "log")
	p.follow(`form[action$="/go-on"] button`)
	p.says(".said", "continues here")
	p.says("#facts", "done")
	require.JSONEq(t, `7`, captured(t, folder, "r1", "last"))
}

// TestResumeInThePage: a run of the agent that was ended goes on, and then with a new goal.
func TestResumeInThePage(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	_, ended := goingOn(t, folder, "going")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/diagnostics/agents/going")
	p.follow(`form[action$="/cancel"] button`)
	ended()
	p.open(h.base + "/diagnostics/agents/going")
	p.says(".facts .status", "canceled")
	p.follow(`form[action$="/resume"] button`)
	p.says(".said", "continues here")
	require.Eventually(t, func() bool { // the events of the page have the end of the cancelled attempt, too
		run := savantIn(t, folder, "runs", "show", "going", "--json")
		return run != "" && !strings.Contains(run, `"status": "running"`) && !strings.Contains(run, `"status": "canceled"`)
	}, time.Minute, 50*time.Millisecond)
	p.open(h.base + "/diagnostics/agents/going")
	p.unfold("Continue with a new goal")
	p.types("#goal", "another goal")
	p.follow(`details form[action$="/resume"] button`)
	p.says(".said", "continues here")
	p.says("#events-of-run", "another goal")
}
