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

// TestTheGraphShowsWhereTheRunStands on a phone, whose screen is narrower than the graph,
// and the step that is chosen.
func TestTheGraphShowsWhereTheRunStands(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	steps := "name: wide\nversion: \"1\"\nsteps:\n"
	for _, name := range strings.Split("abcdefgh", "") {
		steps += "  - {id: " + name + ", call: flow.set, input_template: {value: 1}, capture_as: " + name + "}\n"
	}
	steps += "  - {id: waits, call: human.approve, input_template: {message: \"Sure?\"}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "wide.yaml"), []byte(steps), 0o600))
	out, err := exec.CommandContext(t.Context(), "savant", "workflows", "run", "wide", "--name", "r1", "--path", folder).CombinedOutput()
	require.ErrorAs(t, err, new(*exec.ExitError), string(out))
	p := newProfile(t)
	h := serve(t, folder, "127.0.0.1:0")
	p.open(h.link)
	p.do(chromedp.EmulateViewport(390, 844))
	const seen = `(() => { const frame = document.querySelector(".scroll").getBoundingClientRect(), box = document.querySelector($1 + " .box").getBoundingClientRect();
		return frame.width < document.querySelector(".graph").getBoundingClientRect().width && box.left >= frame.left && box.right <= frame.right; })()`
	p.open(h.base + "/runs/wide/r1")
	p.until(seen, ".node.issued")
	p.open(h.base + "/runs/wide/r1?step=a")
	p.until(seen, ".node.selected")
}
