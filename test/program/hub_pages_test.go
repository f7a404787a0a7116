package program

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPageThatIsNotThere says so, and where to go; it is no fault of a parameter.
func TestAPageThatIsNotThere(t *testing.T) {
	t.Parallel()
	h := serveHub(t, t.TempDir())
	status, body, _ := h.ask(h.client, http.MethodGet, "/nowhere", nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, body, "<h1>Not found</h1>")
	require.Contains(t, body, "There is no page")
	require.NotContains(t, body, "INVALID_PARAMS")
	status, body, _ = h.ask(h.client, http.MethodGet, "/static/", nil)
	require.Equal(t, http.StatusNotFound, status, body)
	status, body, _ = h.ask(h.client, http.MethodGet, "/compare?left=release&right=x%2Fy", nil)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "WORKFLOW/RUN")
}

// TestAStepKeepsItsDecisionAboveIt, also where the filter leaves the event of it out.
func TestAStepKeepsItsDecisionAboveIt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "known", "--force-tool", "git.status", "--force-finish")
	h := serveHub(t, folder)
	heading := func(query string) string {
		page := h.page("/diagnostics/agents/known?view=grouped" + query)
		_, after, found := strings.Cut(page, "Step #1</a> ")
		require.True(t, found, page)
		before, _, _ := strings.Cut(after, "</h3>")
		return before
	}
	require.Contains(t, heading(""), "git.status")
	require.Equal(t, heading(""), heading("&type=tool_call_completed"))
}

// TestACancelledRunSaysOnceByWhom, and offers no file that is not there for its fork.
func TestACancelledRunSaysOnceByWhom(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "workflows", "asks.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("name: asks\nversion: \"1\"\nsteps:\n  - {id: ask, call: human.approve, input_template: {message: \"Sure?\"}}\n"), 0o600))
	savantIn(t, folder, "workflows", "run", "asks", "--name", "r1")
	savantIn(t, folder, "state", "cancel", "r1", "--reason", "the branch is gone")
	h := serveHub(t, folder)
	page := h.page("/runs/asks/r1")
	require.Equal(t, 1, strings.Count(page, "the branch is gone"), page)
	require.Contains(t, page, `name="adopt"`)
	require.NoError(t, os.Remove(file))
	page = h.page("/runs/asks/r1")
	require.Contains(t, page, "there is no such workflow here")
	require.NotContains(t, page, `name="adopt"`)
}

// TestSomethingElseInThePlaceOfAFile checks that pages and commands go on without a
// file that cannot be read, and that what needs it says where it is and what to do.
func TestSomethingElseInThePlaceOfAFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "one.yaml"), []byte("name: one\nversion: \"1\"\nsteps:\n  - {id: a, call: flow.set, input_template: {value: 1}}\noutputs: {sum: \"1\"}\n"), 0o600))
	savantIn(t, folder, "run", "--quiet", "--name", "known", "--force-tool", "git.status", "--force-finish")
	savantIn(t, folder, "workflows", "run", "one", "--name", "r1")
	h := serveHub(t, folder)
	const agent, run = "/diagnostics/agents/known", "/runs/one/r1"
	for _, each := range []struct {
		file, page, code string
		status           int
		downloads        map[string]int
	}{
		{"logs/agent_trace.log", agent, "TOOL_FAILED", http.StatusOK, map[string]int{"/trace.ndjson": 500, "/session.json": 200}},
		{".savant/sessions/known.journal", agent, "TOOL_FAILED", http.StatusInternalServerError, map[string]int{"/trace.ndjson": 500, "/session.json": 500}},
		{".savant/state/one/r1.journal", run, "STATE_CORRUPT", http.StatusOK, nil},
	} {
		path := filepath.Join(folder, filepath.FromSlash(each.file))
		require.NoError(t, os.Rename(path, path+".aside"))
		require.NoError(t, os.Mkdir(path, 0o700))
		status, body, _ := h.ask(h.client, http.MethodGet, each.page, nil)
		require.Equal(t, each.status, status, body)
		for _, says := range []string{each.code, each.file, "move", "a copy"} {
			require.Contains(t, body, says)
		}
		require.NotContains(t, body, "Internal Server Error")
		for download, expected := range each.downloads {
			status, body, _ := h.ask(h.client, http.MethodGet, each.page+download, nil)
			require.Equal(t, expected, status, body)
		}
		for list, entry := range map[string]string{"/": run, "/runs": run, "/diagnostics/agents": agent, "/compare?kind=agent": "known"} {
			require.Contains(t, h.page(list), entry, list)
		}
		require.Contains(t, savantIn(t, folder, "runs", "list"), "known")
		require.Contains(t, savantIn(t, folder, "state", "list"), "r1")
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Rename(path+".aside", path))
	}
	require.Contains(t, h.page(agent), "tool_call_completed")
	require.Contains(t, h.page(run), "Outputs")
}

// TestARunHasOneStatus checks that the word beside the graph is that of the page's top.
func TestARunHasOneStatus(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "asks.yaml"), []byte("name: asks\nversion: \"1\"\nsteps:\n  - {id: ask, call: human.approve, input_template: {message: \"Sure?\"}}\n"), 0o600))
	savantIn(t, folder, "workflows", "run", "asks", "--name", "r1")
	page := serveHub(t, folder).page("/runs/asks/r1")
	require.Equal(t, 2, strings.Count(page, "waiting</span> for a person"), page)
	require.NotContains(t, page, "running")
}

// TestAnEndedRunIsNotSaidToGoOn checks that neither a form with the name of a run that
// exists nor an old page of an ended run reports that something began.
func TestAnEndedRunIsNotSaidToGoOn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "one.yaml"), []byte("name: one\nversion: \"1\"\nsteps:\n  - {id: a, call: flow.set, input_template: {value: 1}}\n"), 0o600))
	savantIn(t, folder, "workflows", "run", "one", "--name", "r1")
	h := serveHub(t, folder)
	form := h.formOf(h.page("/workflows/one"), "/workflows/one/start")
	form.Set("run_id", "r1")
	status, body := h.send("/workflows/one/start", form)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, body, "There is already a run of this name.")
	require.Contains(t, body, `value="r1"`)
	status, body = h.send("/runs/one/r1/go-on", form)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, body, "run r1 is done: there is nothing to continue")
}

// TestWhatIsNotThereNamesNoTool checks that a page about an unknown name does not send a
// person to a tool of clients, and that the filter by workflow takes any text.
func TestWhatIsNotThereNamesNoTool(t *testing.T) {
	t.Parallel()
	h := serveHub(t, t.TempDir())
	for _, path := range []string{"/workflows/nope", "/diagnostics/agents/nope", "/runs/a/b"} {
		status, body, _ := h.ask(h.client, http.MethodGet, path, nil)
		require.Equal(t, http.StatusNotFound, status)
		require.NotContains(t, body, ".list")
		require.Contains(t, body, "<h1>Not found</h1>")
	}
	require.Contains(t, h.page("/runs?workflow=my+flow"), "No run fits.")
}

// TestManyQuestionsAndFindings make no page heavy: of 500 questions of a run the first are
// shown, and that of a chosen step; each label belongs to its own field.
func TestManyQuestionsAndFindings(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	asks, models := "name: rooms\nversion: \"1\"\nlimits: {parallel: 500}\nsteps:\n", "name: models\nversion: \"1\"\nsteps:\n"
	for i := range 500 {
		asks += fmt.Sprintf("  - {id: ask%d, call: human.ask, input_template: {message: \"Who has the key of room %d?\", schema: {type: object, properties: {name: {type: string}}}}, capture_as: a%d}\n", i, i, i)
		models += fmt.Sprintf("  - {id: ask%d, call: llm.generate, input_template: {task: number %d}, capture_as: a%d}\n", i, i, i)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "rooms.yaml"), []byte(asks), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "models.yaml"), []byte(models), 0o600))
	savantIn(t, folder, "workflows", "run", "rooms", "--name", "r1")
	h := serveHub(t, folder)
	for _, path := range []string{"/", "/workflows/models", "/runs/rooms/r1", "/runs/rooms/r1?step=ask150"} {
		page := h.page(path)
		require.Less(t, len(page), 200<<10, path)
		ids := regexp.MustCompile(` id="[^"]*"`).FindAllString(page, -1)
		slices.Sort(ids)
		require.Len(t, slices.Compact(slices.Clone(ids)), len(ids), path)
		require.Equal(t, strings.Contains(path, "ask150"), strings.Contains(page, `name="step" value="ask150"`), path)
	}
	require.Regexp(t, `<p class="kind">\d+ further questions: choose a step`, h.page("/runs/rooms/r1"))
	require.Contains(t, h.page("/workflows/models"), "<code>savant workflows validate models</code> has all")
}
