package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestTheSliderWorksWithoutJavaScript: the keyboard moves it, and the button loads the page.
func TestTheSliderWorksWithoutJavaScript(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	answer("each_0", `"x"`)
	answer("each_1", `"y"`)
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	require.NoError(t, call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	p.open(h.base + "/runs/steps/r1")
	p.draws(".node.issued", "2 of 3")
	p.do(chromedp.SendKeys(chromedp.CSS("#version"), kb.ArrowLeft))
	p.says("#version-shown", "v3 of v3") // nobody writes the number meanwhile
	p.follow(".slider button")
	p.says("#version-shown", "v2 of v3")
	p.draws(".node.issued", "1 of 3")
	require.Equal(t, []string{"2"}, p.queryOf("version"))
	p.follow(`.node a[href*="step=rare"]`)
	p.says("#panel", "undecided")
	require.Equal(t, []string{"2"}, p.queryOf("version"))
	p.do(chromedp.NavigateBack())
	p.says("#panel", "The run is at this step.")
	p.follow(".slider a[rel=prev]")
	p.says("#version-shown", "v1 of v3")
}

// TestDifferencesOfVersionsAndOfRuns, and the verdict on a run.
func TestDifferencesOfVersionsAndOfRuns(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder, answer := planned(t, "r1")
	for _, step := range []string{"each_0", "each_1", "each_2"} {
		answer(step, `"`+step+`"`)
	}
	savantIn(t, folder, "state", "fork", "r1", "--from", "v2", "--name", "r2")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/steps/r1")
	p.click("#history > summary")
	p.types(`#changes [name="from"]`, "2")
	p.types(`#changes [name="to"]`, "4")
	p.follow("#changes button")
	p.says(".changes h3", "From v2 to v4")
	p.says(".changes", "each_2")
	require.Equal(t, []string{"2"}, p.queryOf("from"))

	p.follow(`a[href^="/compare"]`)
	p.follow(`main li a[href$="r2"]`)
	p.says("h1", "Compare two runs")
	p.says("main", "Captures that differ")
	require.NotEmpty(t, eval[[]string](p, `[...document.querySelectorAll("tr.has th code")].map((each) => each.innerText)`))
	all := eval[int](p, `document.querySelectorAll("main tr").length`)
	p.follow(`a[href*="only="]`)
	require.Less(t, eval[int](p, `document.querySelectorAll("main tr").length`), all, "only differences")
	p.do(chromedp.NavigateBack())
	p.until(`document.querySelectorAll("main tr").length === $1`, all)

	p.open(h.base + "/runs/steps/r1")
	p.follow(`form[action$="/verify"] button`)
	p.says(`main [role="status"]`, "identical")

	damage(t, folder)
	p.follow(`form[action$="/verify"] button`)
	p.until(`document.querySelector("main .status.bad, main .problem") !== null`)
	require.Equal(t, 0, eval[int](p, `document.querySelectorAll("main .status.good").length`))
}

// damage changes what a person answered in the journal of r1.
func damage(t *testing.T, folder string) {
	t.Helper()
	changed := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(folder, ".savant"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, "r1") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), `"each_1"`) {
			return err
		}
		changed++
		return os.WriteFile(path, []byte(strings.ReplaceAll(string(data), `"result":"each_1"`, `"result":"other!"`)), 0o600)
	}))
	require.Positive(t, changed)
}

// TestImportInThePage takes in a run of another folder, which is only shown.
func TestImportInThePage(t *testing.T) {
	t.Parallel()
	wanted(t)
	elsewhere, answer := planned(t, "r1")
	answer("each_0", `"x"`)
	file := filepath.Join(t.TempDir(), "r1.export")
	require.NoError(t, os.WriteFile(file, []byte(savantIn(t, elsewhere, "state", "export", "r1", "-o", "-")), 0o600))
	h := serve(t, t.TempDir(), "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs")
	send := func(path string) {
		t.Helper()
		p.unfold("Import")
		p.do(chromedp.SetUploadFiles(chromedp.CSS("#export"), []string{path}))
		p.follow(`form[action="/runs/import"] button`)
	}
	send(file)
	p.says("h1", "r1")
	p.says(".said", "The run was imported.")
	p.says("#facts", "Imported")
	p.says("#facts", "there is no such workflow here")
	require.Zero(t, eval[int](p, `document.querySelectorAll("details.act, .ask form").length`), "it is only shown")
	p.open(h.base + "/runs")
	send(file)
	p.says(".said", "is already here")

	broken := filepath.Join(t.TempDir(), "broken")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	data[len(data)/2]++ // one byte of it
	require.NoError(t, os.WriteFile(broken, data, 0o600))
	p.open(h.base + "/runs")
	send(broken)
	p.until(`document.querySelector(".said") === null && document.querySelector("h1").innerText !== "r1"`)
	p.open(h.base + "/runs")
	require.Equal(t, 1, eval[int](p, `document.querySelectorAll("main tbody tr").length`))
}
