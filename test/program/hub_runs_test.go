package program

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyRuns plans runs in one process.
func manyRuns(t testing.TB, folder, workflow string, count int) {
	t.Helper()
	lines := []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	for i := range count {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"think.plan","arguments":{"workflow":%q,"run_id":"m%d"}}}`, i+1, workflow, i))
	}
	command := exec.CommandContext(t.Context(), "savant", "mcp")
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "LOG_LEVEL=error", "MCP_SERVICE=think")
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := command.Output()
	require.NoError(t, err)
	require.Equal(t, count, strings.Count(string(out), `"run_id":"m`)/strings.Count(string(out), `"run_id":"m0"`), "each is planned")
}

// TestTheOldestRunIsFiltered: who began a run, and which run took its place, is known of all
// runs of a list, however old they are.
func TestTheOldestRunIsFiltered(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := shipsIn(t)
	h := serveHub(t, folder)
	status, body := h.send("/workflows/ships/start", h.formOf(h.page("/workflows/ships"), "/workflows/ships/start"), "run_id", "first", "how", "guided")
	require.Equal(t, http.StatusOK, status, body)
	savantIn(t, folder, "state", "cancel", "first")
	savantIn(t, folder, "state", "fork", "first", "--name", "second")
	manyRuns(t, folder, "ships", 510)
	page := h.page("/runs?by=hub")
	require.Contains(t, page, `href="/runs/ships/first"`)
	require.Contains(t, page, `superseded by <a href="/runs/ships/second"`)
	require.NotContains(t, page, `href="/runs/ships/m0"`)
	require.Contains(t, page, `<datalist id="who"><option value="hub"><option value="local"></datalist>`)
	require.Contains(t, h.page("/runs/ships/first"), `<dt>Superseded by</dt>`)
}

// TestNewerRunsHideNoQuestion: a question that waits is in the inbox, in lists, in the numbers
// and told to a receiver, however many runs began or ended after it.
func TestNewerRunsHideNoQuestion(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := shipsIn(t)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "older")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "thinks.yaml"), []byte("name: thinks\nversion: \"1\"\nsteps:\n  - {id: think, call: llm.generate, input_template: {task: \"Think.\"}}\n"), 0o600))
	manyRuns(t, folder, "thinks", 510)
	address, heard := receiver(t, "the secret of it")
	h := serveHub(t, folder, "--set", "hub.notify="+address+"#the secret of it")
	page := h.page("/")
	require.Contains(t, page, `aria-label="older: sure"`)
	require.Contains(t, page, `<span class="figure">511</span> open runs`)
	require.Contains(t, page, `<a href="/runs?status=open">All 511 open runs</a>`)
	require.Contains(t, h.page("/runs?waits=person"), `href="/runs/ships/older"`)
	require.Contains(t, heardNext(t, heard).text, `"run":"older"`)
}

// TestWhatModelsDidForAWorkflow: the page of a run shows what a model was asked for a step
// and wrote, each attempt beside the one before and without secrets; the numbers count it.
func TestWhatModelsDidForAWorkflow(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "look.yaml"), []byte("name: look\nversion: \"1.0\"\nsteps:\n"+
		"  - {id: small, call: llm.generate, input_template: {task: \"Say hello to ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.\"}, extract: \"result.text\", success_schema: {type: string}, capture_as: first}\n"+
		"  - {id: other, call: llm.generate, input_template: {task: \"The secret of another step.\"}, deps: [small]}\n"), 0o600))
	o := newOllama(t, map[string][]string{"small": {`{"other": 1}`, `{"text": "Hello"}`, `"done"`, `{"text": "Hello"}`, `"done"`}})
	for _, name := range []string{"r1", "r2"} {
		command := exec.CommandContext(t.Context(), "savant", "workflows", "run", "look", "--name", name, "--path", folder)
		command.Env = append(os.Environ(), "OLLAMA_HOST="+o.URL, "SLM_MODEL=small", `LLM_PRICES={"small": {"input": 1000, "output": 0}}`)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	h := serveHub(t, folder)
	page := h.page("/runs/look/r1?step=small")
	require.Contains(t, page, "Say hello to")
	require.NotContains(t, page, "ghp_aaaa")
	require.NotContains(t, page, "another step")
	require.Contains(t, page, "&#34;other&#34;: 1", "the reply that was refused")
	require.Contains(t, page, "as in the call before")
	require.Contains(t, page, "not in the call before")
	require.Contains(t, page, "Your last answer was refused")
	whole := regexp.MustCompile(`href="(r1/exchange\?digest=[0-9a-f]{64})"`).FindAllStringSubmatch(page, -1)
	require.Len(t, whole, 2)
	require.Contains(t, h.page("/runs/look/"+whole[0][1]), "=== reply")
	status, _, _ := h.ask(h.client, http.MethodGet, strings.Replace("/runs/look/"+whole[0][1], "r1", "r2", 1), nil)
	require.Equal(t, http.StatusNotFound, status, "another run asked it")

	numbers := h.page("/numbers")
	require.Regexp(t, `<a href="/runs\?workflow=look">look</a></td><td class="number" data-label="runs">2</td><td>.*</td><td class="number" data-label="refusals">1</td><td class="number" data-label="tokens">550</td><td class="number" data-label="cost">0.5</td>`, numbers)
	require.Regexp(t, `<td>ollama:small</td><td class="number" data-label="runs">2</td><td>.*</td><td class="number" data-label="refusals">1</td><td class="number" data-label="tokens">550</td><td class="number" data-label="cost">0.5</td>`, numbers)
	require.Contains(t, numbers, "Tokens of workflows by day. ")
	require.Contains(t, numbers, "Cost of workflows by day. ")
}

// TestWhoWaitsLongestIsFirst: the inbox begins with the question that was asked first, and a
// long list that is read from its end has its last rows on the first view.
func TestWhoWaitsLongestIsFirst(t *testing.T) {
	t.Parallel()
	folder := shipsIn(t)
	for _, name := range []string{"older", "newer"} {
		savantIn(t, folder, "workflows", "run", "ships", "--name", name)
	}
	h := serveHub(t, folder)
	page := h.page("/")
	require.Less(t, strings.Index(page, `aria-label="older: sure"`), strings.Index(page, `aria-label="newer: sure"`))
	list := strings.TrimSuffix(strings.Repeat("1, ", 51), ", ")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "tell.yaml"), []byte("name: tell\nversion: \"1\"\nsteps:\n  - {id: list, call: flow.set, input_template: {value: ["+list+"]}, capture_as: list}\n"+
		"  - {id: each, foreach: list, as: one, call: context.read, input_template: {path: \"workflows/tell.yaml\", start_line: \"{{ one }}\"}}\n"), 0o600))
	savantIn(t, folder, "workflows", "run", "tell", "--name", "long")
	page = h.page("/runs/tell/long")
	require.Contains(t, page, "<p class=\"pager\">3–52 of 52")
	require.Contains(t, h.page("/runs/tell/long?records=0"), "<p class=\"pager\">1–2 of 52")
}
