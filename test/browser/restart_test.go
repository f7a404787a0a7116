package browser

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestARunMovesOnAcrossARestart: the page of a run says that the hub is away, and shows what
// came meanwhile once another is there, for the same session.
func TestARunMovesOnAcrossARestart(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/steps/r1")
	p.says("#version-shown", "v1 of v1")
	eval[bool](p, `window.stays = true`)
	h.stop()
	p.says("#live-note", "The hub does not answer.")
	answer("each_0", `"x"`)
	h.again(folder)
	p.says("#version-shown", "v2 of v2")
	p.draws(".node.issued", "1 of 3")
	p.draws("#history", "each_0")
	p.until(`document.getElementById("live-note").textContent === ""`)
	answer("each_1", `"y"`)
	p.says("#version-shown", "v3 of v3")
	p.until(`window.stays`) // the page was not loaded again
}

// TestARunIsDeletedWhileItIsShown: its page says so, and goes on when it is back.
func TestARunIsDeletedWhileItIsShown(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/steps/r1")
	p.says("#version-shown", "v1 of v1")
	savantIn(t, folder, "state", "delete", "r1")
	p.says("#live-note", "The run is gone")
	p.says("h1", "r1") // what was shown stays
	savantIn(t, folder, "state", "restore", "r1")
	answer("each_0", `"x"`)
	p.says("#version-shown", "v2 of v2")
	p.until(`document.getElementById("live-note").textContent === ""`)
}

// TestNothingIsSentToAHubThatIsAway: the page stays, with what was written, until the hub is
// back; then it is sent.
func TestNothingIsSentToAHubThatIsAway(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/ships/r1")
	p.types(`textarea[name="comment"]`, "It took long to write this.")
	p.stays()
	h.stop()
	p.says("#live-note", "The hub does not answer.")
	p.click(`button[value="approve"]`)
	p.says(".ask .wrong", "Nothing was sent")
	p.stayed()
	h.again(folder)
	p.until(`document.getElementById("live-note").textContent === ""`)
	p.follow(`button[value="approve"]`)
	p.says(".said", "The answer is recorded.")
	require.JSONEq(t, `{"approved":true,"comment":"It took long to write this."}`, captured(t, folder, "r1", "sure"))
}

// TestABrowserWithoutANetwork sends to a hub on its own machine, which needs none.
func TestABrowserWithoutANetwork(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/ships/r1")
	eval[bool](p, `Object.defineProperty(navigator, "onLine", { get: () => false }) && dispatchEvent(new Event("offline"))`)
	p.follow(`button[value="approve"]`)
	p.says(".said", "The answer is recorded.")
}

// TestAClockThatIsAheadOfTheReaders: the page calls a time a few seconds ahead "just now", and
// a later one "in 2 h".
func TestAClockThatIsAheadOfTheReaders(t *testing.T) {
	t.Parallel()
	wanted(t)
	for ahead, says := range map[time.Duration]string{30 * time.Second: "just now", 150 * time.Minute: "in 2 h", 50 * time.Hour: "in 2 d", -150 * time.Minute: "2 h ago"} {
		folder := t.TempDir()
		writeHard(t, folder)
		oldRuns(t, folder, time.Now().Add(ahead))
		p := serve(t, folder, "127.0.0.1:0").enter()
		p.says(`tr[data-key="asks/two-days"] time`, says)
	}
}

// TestATextThatIsTooLongForAFormStays: it is told before it is sent, and one of 300 KB is
// taken.
func TestATextThatIsTooLongForAFormStays(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/workflows/ships")
	p.types(`[name="run_id"]`, "r1")
	fill := func(size int) {
		eval[bool](p, `(document.querySelector('[name="field.0"]').value = "x".repeat($1)) !== ""`, size)
	}
	p.stays()
	fill(600_000)
	p.click(`.answer button.yes`)
	p.says(".answer .wrong", "more than 512 kB")
	p.stayed()
	fill(300_000)
	p.follow(`.answer button.yes`)
	p.says("h1", "r1")
	p.says(".said", "The run has begun.")
}
