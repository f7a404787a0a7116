package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// demoRuns makes the runs of make hub: one in each state there is.
func demoRuns(t testing.TB) (folder string) {
	t.Helper()
	scratch, err := os.MkdirTemp("", "demo-") // it goes with the home of the tests: what still runs may write to it
	require.NoError(t, err)
	folder = filepath.Join(scratch, "demo")
	out, err := exec.CommandContext(t.Context(), "../../.ci/demo-runs", folder, "../..").CombinedOutput()
	require.NoError(t, err, string(out))
	id, err := os.ReadFile(filepath.Join(folder, ".savant", "demo.pid"))
	require.NoError(t, err)
	running, err := strconv.Atoi(strings.TrimSpace(string(id)))
	require.NoError(t, err)
	t.Cleanup(func() {
		if process, err := os.FindProcess(running); err == nil {
			_ = process.Signal(syscall.SIGTERM) // it may have ended
		}
	})
	return folder
}

// pages are the pages of the hub, by the name of their picture.
func pages() map[string]string {
	return map[string]string{
		"overview": "/", "runs": "/runs", "run-done": "/runs/look/done", "run-waits": "/runs/release/waits-for-person", "run-model": "/runs/release/waits-for-model",
		"run-failed": "/runs/strict/failed", "run-blocked": "/runs/count/blocked", "run-running": "/runs/checks/running", "run-cancelled": "/runs/release/cancelled",
		"workflows": "/workflows", "workflow": "/workflows/release", "agents": "/diagnostics/agents", "agent": "/diagnostics/agents/agent-answered?view=timeline", "agent-step": "/diagnostics/agents/agent-answered?view=grouped&step=2",
		"rules": "/rules", "agent-grouped": "/diagnostics/agents/agent-answered?view=grouped", "agent-failed": "/diagnostics/agents/agent-failed", "nothing": "/nothing", "compare": "/compare", "numbers": "/numbers", "tools": "/tools?q=git", "tool": "/tools/git.log",
	}
}

// look is how a page is looked at.
func (p *tab) look(width int, theme string) {
	p.t.Helper()
	for _, err := range []error{
		call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: int64(width), Height: 900, DeviceScaleFactor: 1}),
		call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}),
	} {
		require.NoError(p.t, err)
	}
}

// TestAxeFindsNothing has axe-core look at each page, in both themes and at three widths.
func TestAxeFindsNothing(t *testing.T) {
	t.Parallel()
	wanted(t)
	lookedAt(t, demoRuns(t), pages())
}

// TestAxeFindsNothingInHardRuns: nor where runs are long, large, old or in other scripts.
func TestAxeFindsNothingInHardRuns(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	hardRuns(t, folder)
	lookedAt(t, folder, hardPages())
}

// lookedAt has axe-core look at pages, which have to be as wide as the screen.
func lookedAt(t *testing.T, folder string, pages map[string]string) {
	t.Helper()
	if os.Getenv("SAVANT_AXE") == "" {
		_, err := exec.LookPath("npm")
		require.False(t, err == nil && os.Getenv("CI") == "true", "there is npm, and SAVANT_AXE names no axe-core: make browser installs it")
		t.Skip("NO NODE WITH NPM: THE PAGES WERE NOT LOOKED AT FOR ACCESSIBILITY. make browser INSTALLS axe-core WITH IT")
	}
	axe, err := os.ReadFile(os.Getenv("SAVANT_AXE"))
	require.NoError(t, err)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	for name, path := range pages {
		p.open(h.base + path)
		if name == "agent" {
			p.click("#events li:first-child a")
			p.until(`!document.getElementById("details").hidden`)
		}
		eval[bool](p, string(axe)+"\n;true")
		if name == "runs" { // the palette stands above its page
			p.click(".palette-opens")
		}
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int{390, 1280, 2560} {
				p.look(width, theme)
				found := eval[[]string](p, `axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then((all) => all.violations.map((each) =>
					each.id + ": " + each.help + "\n" + each.nodes.map((node) => "  " + node.target + "\n  " + node.failureSummary).join("\n")))`)
				assert.Empty(t, found, "%s, %s, %d wide", name, theme, width)
				assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), width, "%s at %d: the page is wider than the screen", name, width)
			}
		}
	}
}

// TestPictures makes pictures of the pages in the folder that SAVANT_PICTURES names:
// make pictures.
func TestPictures(t *testing.T) {
	t.Parallel()
	wanted(t)
	into := os.Getenv("SAVANT_PICTURES")
	if into == "" {
		t.Skip("SAVANT_PICTURES names no folder: make pictures does")
	}
	require.NoError(t, os.MkdirAll(into, 0o755))
	pictured(t, demoRuns(t), pages(), into)
	folder := t.TempDir()
	hardRuns(t, folder)
	pictured(t, folder, hardPages(), into)
}

// pictured makes pictures of pages.
func pictured(t *testing.T, folder string, pages map[string]string, into string) {
	t.Helper()
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	for name, path := range pages {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int{390, 1280, 2560} {
				p.look(width, theme)
				p.open(h.base + path)
				if name == "agent" {
					eval[bool](p, `[...document.querySelectorAll("#events a")].find((each) => each.textContent.includes("tool_call_completed")).click() === undefined`)
					p.until(`!document.getElementById("details").hidden`)
					eval[bool](p, `document.querySelector(".views").parentElement.scrollIntoView() === undefined`)
				}
				picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(into, fmt.Sprintf("%s-%s-%d.png", name, theme, width)), small(t, picture), 0o644))
			}
		}
	}
}

// small writes a picture with the 256 colours that it has most of, which is a third of
// its size.
func small(t testing.TB, picture []byte) []byte {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	bounds := decoded.Bounds()
	counts := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(decoded.At(x, y)).(color.RGBA)]++
		}
	}
	palette := color.Palette{}
	for len(palette) < 256 && len(counts) > 0 {
		var most color.RGBA
		for each, count := range counts {
			if count > counts[most] {
				most = each
			}
		}
		palette = append(palette, most)
		delete(counts, most)
	}
	reduced := image.NewPaletted(bounds, palette)
	draw.Draw(reduced, bounds, decoded, bounds.Min, draw.Src)
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced))
	return out.Bytes()
}
