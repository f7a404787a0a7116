//go:build unix

package browser

import (
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestAHubThatHangsIsSaid: no connection ends there. The page waits for a second instead of 40.
func TestAHubThatHangsIsSaid(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	h := serve(t, folder, "127.0.0.1:0")
	t.Cleanup(func() { _ = h.command.Process.Signal(syscall.SIGCONT) }) // a test that fails leaves none behind
	p := h.enter()
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `{ const real = setTimeout; window.setTimeout = (what, time, ...more) => real(what, time === 40000 ? 1000 : time, ...more); }`})
	require.NoError(t, err)
	p.open(h.base + "/runs/steps/r1")
	p.says("#version-shown", "v1 of v1")
	require.NoError(t, h.command.Process.Signal(syscall.SIGSTOP))
	p.says("#live-note", "The hub does not answer.")
	require.NoError(t, h.command.Process.Signal(syscall.SIGCONT))
	answer("each_0", `"x"`)
	p.says("#version-shown", "v2 of v2")
}
