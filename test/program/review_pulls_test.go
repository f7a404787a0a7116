package program

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/review"
	"savant/reasoning/service"
)

// budgetOfReviews is what the model of these tests is shown at most, in tokens: less than
// the default, so that each change comes in several parts.
const budgetOfReviews = 6000

// pullReviewer stands in for a model behind an OpenAI-compatible service: it reports each
// added line with a seeded defect, at a wrong line number.
type pullReviewer struct {
	t     *testing.T
	mu    sync.Mutex
	asked []string // the prompts, system and user together
}

func (m *pullReviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // what models there are
		http.NotFound(w, r)
		return
	}
	var request struct {
		Messages []struct{ Content string }
	}
	assertNoError(m.t, json.NewDecoder(r.Body).Decode(&request))
	prompt := ""
	for _, each := range request.Messages {
		prompt += each.Content + "\n"
	}
	m.mu.Lock()
	m.asked = append(m.asked, prompt)
	m.mu.Unlock()
	answer := any(map[string]any{"decision": "request_changes", "summary": "Defects were found in it.", "reasons": []string{"what was found"}})
	if lines := shownLines(prompt); len(lines) > 0 {
		findings := []map[string]any{}
		for _, each := range lines {
			if strings.HasPrefix(each.text, "+") && strings.Contains(each.text, "DEFECT") {
				findings = append(findings, map[string]any{"path": each.path, "line": 1, "severity": "major",
					"message": "A defect was seeded: " + each.text[strings.Index(each.text, "DEFECT"):] + ".", "evidence": each.text})
			}
		}
		answer = map[string]any{"findings": findings}
	}
	content, err := json.Marshal(answer)
	assertNoError(m.t, err)
	assertNoError(m.t, json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop",
		"message": map[string]any{"role": "assistant", "content": string(content)}}}, "usage": map[string]int{"prompt_tokens": 10, "completion_tokens": 1}}))
}

// shownLine is a line of a change as a model is shown it: its sign and its text.
type shownLine struct{ path, text string }

var (
	shownFile = regexp.MustCompile(`^## (\S+) \([a-z]+, \+\d+ -\d+.*\)$`)
	shownText = regexp.MustCompile(`^ *\d* ([ +-].*)$`)
)

// shownLines are the changed lines in a prompt, in their order.
func shownLines(prompt string) (lines []shownLine) {
	path := ""
	for line := range strings.Lines(prompt) {
		line = strings.TrimSuffix(line, "\n")
		if match := shownFile.FindStringSubmatch(line); match != nil {
			path = match[1]
			continue
		}
		if path == "" || len(line) < 7 {
			continue
		}
		if match := shownText.FindStringSubmatch(line[:7]); match != nil && (line[6] == '+' || line[6] == '-') {
			lines = append(lines, shownLine{path, line[6:]})
		}
	}
	return lines
}

// TestMergedPullRequestsAreReadWhole reviews five merged pull requests of public
// repositories with seeded defects: each changed line reaches the model once, each prompt
// is within its budget, and each defect is found at its line.
func TestMergedPullRequestsAreReadWhole(t *testing.T) {
	skipInShort(t)
	t.Parallel()
	bundle, err := filepath.Abs(filepath.Join("testdata", "pulls", "pulls.bundle"))
	require.NoError(t, err)
	for _, name := range []string{"cobra-1035", "cobra-1643", "cobra-1654", "pflag-425", "go-cmp-15"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pull{t: t, folder: filepath.Join(t.TempDir(), "it")}
			p.git(".", "clone", "-q", "-b", "pull/"+name, bundle, p.folder)
			seeded := p.seed("origin/base/" + name)
			require.Greater(t, len(seeded), 5)
			want := p.changed("origin/base/" + name)

			model := &pullReviewer{t: t}
			server := httptest.NewServer(model)
			defer server.Close()
			var stdout, stderr strings.Builder
			code := run(t.Context(), []string{"review", "origin/base/" + name + "...HEAD", "--output", "json", "--no-tests", "--set", "agent.prompt.llm_budget_tokens=" + strconv.Itoa(budgetOfReviews)},
				[]string{"SAVANT_PATH=" + p.folder, "HOME=" + t.TempDir(), "LOG_LEVEL=error", "OPENAI_BASE_URL=" + server.URL, "LLM_MODEL=openai:scripted"}, strings.NewReader(""), &stdout, &stderr)
			require.Equal(t, 1, code, stderr.String())

			var shown []shownLine
			for _, prompt := range model.asked {
				require.LessOrEqual(t, service.Tokens(prompt), budgetOfReviews)
				shown = append(shown, shownLines(prompt)...)
			}
			require.ElementsMatch(t, want, shown)
			require.GreaterOrEqual(t, len(model.asked), 3, "two parts or more, and the verdict")

			var report review.Report
			require.NoError(t, json.Unmarshal([]byte(stdout.String()), &report))
			var found []string
			for _, each := range report.Findings {
				found = append(found, fmt.Sprintf("%s:%d", each.Path, each.Line))
			}
			require.ElementsMatch(t, seeded, found)
			require.Empty(t, report.Dropped)
			require.Equal(t, len(want), report.Change.Lines.Reviewed)
			require.Equal(t, report.Change.Lines.All, report.Change.Lines.Reviewed+report.Change.Lines.LeftOut)
			for _, file := range report.Change.Files {
				require.Equal(t, file.Path == "go.sum", file.LeftOut == "lock file", file.Path)
				require.True(t, file.LeftOut == "" || file.Path == "go.sum", file)
			}
		})
	}
}

// notRead keeps lock files out of a diff: reviews name them and do not read them.
const notRead = ":!go.sum"

// pull is a clone of a pull request.
type pull struct {
	t      *testing.T
	folder string
}

func (p *pull) git(folder string, args ...string) string {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := command.Output()
	require.NoError(p.t, err)
	return string(out)
}

// seed puts a defect into every thirtieth line that the request adds, and returns where.
func (p *pull) seed(base string) (places []string) {
	texts := map[string][]string{}
	path, number, added := "", 0, 0
	for line := range strings.Lines(p.git(p.folder, "diff", "-M", "-U0", base, "HEAD", "--", ".", notRead)) {
		switch {
		case strings.HasPrefix(line, "+++ "):
			path = strings.TrimPrefix(strings.TrimSpace(line[4:]), "b/")
		case strings.HasPrefix(line, "@@ "):
			from, _, _ := strings.Cut(strings.Fields(line)[2], ",")
			var err error
			number, err = strconv.Atoi(strings.TrimPrefix(from, "+"))
			require.NoError(p.t, err)
		case line[0] == '+':
			if added++; added%30 == 0 {
				if texts[path] == nil {
					data, err := os.ReadFile(filepath.Join(p.folder, path))
					require.NoError(p.t, err)
					texts[path] = strings.Split(string(data), "\n")
				}
				texts[path][number-1] += fmt.Sprintf(" // DEFECT %d", added)
				places = append(places, fmt.Sprintf("%s:%d", path, number))
			}
			number++
		}
	}
	for name, lines := range texts {
		require.NoError(p.t, os.WriteFile(filepath.Join(p.folder, name), []byte(strings.Join(lines, "\n")), 0o600))
	}
	p.git(p.folder, "commit", "-q", "-a", "-m", "Seed defects")
	return places
}

// changed are the lines that the change adds and removes, as git says.
func (p *pull) changed(base string) (lines []shownLine) {
	path := ""
	for line := range strings.Lines(p.git(p.folder, "diff", "-M", base, "HEAD", "--", ".", notRead)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "diff "):
			path = line[strings.LastIndex(line, " b/")+3:]
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case line != "" && (line[0] == '+' || line[0] == '-'):
			lines = append(lines, shownLine{path, line})
		}
	}
	return lines
}
