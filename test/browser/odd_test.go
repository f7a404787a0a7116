package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// TestLongTextsFit: names of 64 letters, values without a place to break at and hostile
// characters leave each page as wide as the screen, whatever its size. 640 is a window of 1280 at
// 200 %.
func TestLongTextsFit(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	name, wide := strings.Repeat("long_name_", 6), strings.Repeat("W", 300)
	workflow := "w_" + name[:58]
	write := func(file, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", file+".yaml"), []byte(text), 0o600))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	write(workflow, "name: "+workflow+"\nversion: \"1.0.0-beta.20261123\"\ndescription: "+wide+"\nparams:\n  "+name+": {type: string, default: "+wide+"}\nsteps:\n"+
		"  - {id: "+name+", call: flow.set, input_template: {value: \"<b>{{ params."+name+" }} \\u202e \\e[31m\"}, capture_as: "+name+"}\n"+
		"  - {id: ask, when: len(state."+name+") > 5, call: human.approve, input_template: {message: \"{{ state."+name+" }}\"}}\n")
	savantIn(t, folder, "workflows", "run", workflow, "--name", "r1_"+name[:58])
	savantIn(t, folder, "workflows", "run", workflow, "--name", "r2_"+name[:58], "--param", name+"=other"+wide)
	savantIn(t, folder, "run", "--quiet", "--name", "a_"+name, "<h1>"+wide)
	trace(t, folder, telemetry.Event{Type: telemetry.ToolCallCompleted, RunID: "a_" + name, Step: 1, ToolName: "x." + name, Output: "\x1b[31m\u202e" + wide, Timestamp: "2026-01-02T03:04:05Z"})
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	first, second := workflow+"/r1_"+name[:58], workflow+"/r2_"+name[:58]
	for path, says := range map[string]string{"/": "waiting", "/runs": "waiting", "/runs/" + first: "Why", "/workflows": "beta", "/workflows/" + workflow: "Start a run", "/diagnostics/agents": "<h1>",
		runPage + "a_" + name + "?view=timeline": "Events", runPage + "a_" + name + "?view=grouped": "By step", "/compare?left=" + first + "&right=" + second: "Captures that differ"} {
		for _, width := range []int{1280, 640, 390} {
			p.look(width, "light")
			p.open(h.base + path)
			p.says("main", says)
			require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), width, path)
			// A value takes what is left beside its name: it is not squeezed to a letter a line.
			require.Empty(t, eval[[]string](p, `[...document.querySelectorAll("main dd, main td")].filter((each) => each.innerText.length > 9 && each.clientWidth < 60).map((each) => each.innerText)`), "%s at %d", path, width)
			if width < 640 { // a card has no scroll bar of its own
				require.Empty(t, eval[[]string](p, `[...document.querySelectorAll("main .wide")].filter((each) => each.querySelector(".cards") && each.scrollWidth > each.clientWidth).map((each) => each.innerText)`), path)
			}
		}
	}
}

// TestAParagraphInArabicBeginsAtTheRight: its last sign is left of its first one, where it is no JSON.
func TestAParagraphInArabicBeginsAtTheRight(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "asks.yaml"),
		[]byte("name: asks\nversion: \"1\"\nsteps:\n  - {id: a, call: human.approve, input_template: {message: \"مرحبا (Savant)!\"}}\n"), 0o600))
	savantIn(t, folder, "workflows", "run", "asks", "--name", "r1")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	for _, path := range []string{"/", "/runs/asks/r1"} {
		p.open(h.base + path)
		p.says("main", "مرحبا")
		require.Equal(t, []string{""}, eval[[]string](p, `(() => {
			const found = new Set(), nodes = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), range = document.createRange();
			const left = (node, at) => { range.setStart(node, at); range.setEnd(node, at + 1); return range.getBoundingClientRect().left; };
			for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
				const at = node.data.indexOf("مرحبا (Savant)!");
				if (at >= 0 && !node.data.includes("{") && node.parentElement.checkVisibility() && left(node, at)) found.add(left(node, at + 14) < left(node, at) ? "" : node.parentElement.outerHTML);
			}
			return [...found];
		})()`), path)
	}
}

// TestAWorkflowThatBreaksWhileItIsShown: starting it says what is wrong with the file.
func TestAWorkflowThatBreaksWhileItIsShown(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "workflows", "breaks.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	write := func(step string) {
		require.NoError(t, os.WriteFile(file, []byte("name: breaks\nversion: \"1\"\nsteps:\n  - {id: a, "+step+"}\n"), 0o600))
	}
	write("call: flow.set, input_template: {value: 1}")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/workflows/breaks")
	p.says("main", "Start a run")
	write("cal: flow.set")
	p.until(`fetch(location.href).then((answer) => answer.text()).then((text) => { window.told = text.includes("not valid"); }) && window.told === true`)
	p.follow(`form[action$="/start"] button`)
	p.says("h1", "The workflow is not valid")
	p.says("main", "workflows/breaks.yaml:4:5: call is missing")
	p.open(h.base + "/workflows/breaks")
	p.says("main", `did you mean "call"?`)
	write("call: flow.set, input_template: {value: 1}")
	p.until(`fetch(location.href).then((answer) => answer.text()).then((text) => { window.mended = text.includes("Start a run"); }) && window.mended === true`)
}
