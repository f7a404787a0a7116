package browser

import "testing"

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
