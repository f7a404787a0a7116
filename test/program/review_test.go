package program

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/review"
	"savant/reasoning"
)

// reviewer stands in for a model: it reports each added line with the word DEFECT, and
// one finding that quotes what is nowhere. It keeps the parts that it saw.
type reviewer struct {
	t     *testing.T
	mu    sync.Mutex
	parts []string
	sizes []int
}

func (m *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request reasoning.Request
	if !assertNoError(m.t, json.NewDecoder(r.Body).Decode(&request)) || request.Question == nil {
		http.Error(w, "no question", http.StatusBadRequest)
		return
	}
	var data struct {
		Part     string            `json:"part"`
		Findings []json.RawMessage `json:"findings"`
	}
	assertNoError(m.t, json.Unmarshal([]byte(request.Data()), &data))
	var answer any
	if data.Part != "" {
		m.mu.Lock()
		m.parts, m.sizes = append(m.parts, data.Part), append(m.sizes, len(request.Goal))
		m.mu.Unlock()
		answer = map[string]any{"findings": findDefects(data.Part)}
	} else {
		decision := "approve"
		if len(data.Findings) > 0 {
			decision = "request_changes"
		}
		answer = map[string]any{"decision": decision, "summary": "The change was read in parts and decided on.", "reasons": []string{"what was found"}}
	}
	final, err := json.Marshal(answer)
	assertNoError(m.t, err)
	assertNoError(m.t, json.NewEncoder(w).Encode(map[string]any{"action": "finish", "final": string(final), "model": "scripted"}))
}

func assertNoError(t *testing.T, err error) bool {
	if err != nil {
		t.Errorf("the scripted model: %v", err)
	}
	return err == nil
}

func findDefects(part string) []map[string]any {
	findings, path := []map[string]any{}, ""
	for line := range strings.Lines(part) {
		if name, is := strings.CutPrefix(line, "## "); is {
			path, _, _ = strings.Cut(name, " ")
			findings = append(findings, map[string]any{"path": path, "line": 1, "severity": "blocker",
				"message": "This was made up by the model.", "evidence": "no such line stands here"})
			continue
		}
		if line[6] == '+' && strings.Contains(line, "DEFECT") {
			findings = append(findings, map[string]any{"path": path, "line": 1, "severity": "major",
				"message": "A defect was seeded in this line.", "evidence": strings.TrimRight(line, "\n")})
		}
	}
	return findings
}

// TestAReviewSeesTheWholeChange starts the program as a user would, on a change with
// seeded defects.
func TestAReviewSeesTheWholeChange(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := t.TempDir()
	git := func(args ...string) string {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	text := "package a\n"
	for i := range 100 {
		text += fmt.Sprintf("\nfunc f%d() {\n%s}\n", i, strings.Repeat("\tcall()\n", 20))
	}
	git("init", "-q", "-b", "main")
	write("a.go", text)
	git("add", "-A")
	git("commit", "-q", "-m", "begin")
	git("checkout", "-q", "-b", "feature")
	lines := strings.Split(text, "\n")
	var want []string
	for i := 10; i < len(lines); i += 23 {
		lines[i] = fmt.Sprintf("\tother(%d)", i)
		if i%5 == 0 {
			lines[i] += " // DEFECT"
			want = append(want, fmt.Sprintf("a.go:%d", i+1))
		}
	}
	write("a.go", strings.Join(lines, "\n"))
	git("add", "-A")
	git("commit", "-q", "-m", "change")

	model := &reviewer{t: t}
	server := httptest.NewServer(model)
	defer server.Close()
	savant := func(args ...string) (code int, stdout, stderr string) {
		var out, errs strings.Builder
		code = run(t.Context(), args, []string{"SAVANT_PATH=" + folder, "REASONING_API_URL=" + server.URL, "HOME=" + t.TempDir(), "LOG_LEVEL=error"},
			strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	code, stdout, stderr := savant("review", "feature", "--output", "json", "--no-tests")
	require.Equal(t, 1, code, stderr)
	var report review.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	var got []string
	for _, each := range report.Findings {
		got = append(got, fmt.Sprintf("%s:%d", each.Path, each.Line))
		require.Contains(t, each.Evidence, "DEFECT")
	}
	require.Equal(t, want, got)
	require.Equal(t, "request_changes", report.Decision)
	require.Len(t, report.Dropped, len(model.parts), "what was made up is dropped")
	require.Equal(t, report.Change.Lines.All, report.Change.Lines.Reviewed)

	seen := 0
	for i, part := range model.parts {
		require.Less(t, model.sizes[i], 20_000)
		for line := range strings.Lines(part) {
			if line[6] == '+' && !strings.HasPrefix(line, "##") {
				seen++
			}
		}
	}
	require.Equal(t, (len(lines)-10+22)/23, seen, "each changed line is seen once")

	// The other forms. What is printed is what a file gets.
	code, stdout, stderr = savant("review", "feature", "--no-tests")
	require.Equal(t, 1, code, stderr)
	printed := filepath.Join(t.TempDir(), "review.md")
	code, _, stderr = savant("review", "feature", "--output-file", printed, "--no-tests")
	require.Equal(t, 1, code, stderr)
	written, err := os.ReadFile(printed)
	require.NoError(t, err)
	require.Equal(t, string(written), stdout)
	require.Contains(t, stdout, "\n## Findings")
	file := filepath.Join(t.TempDir(), "review.sarif")
	code, _, stderr = savant("review", "feature", "--output", "sarif", "--output-file", file, "--no-tests")
	require.Equal(t, 1, code, stderr)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var log struct {
		Version string
		Runs    []struct{ Results []struct{ Level string } }
	}
	require.NoError(t, json.Unmarshal(data, &log))
	require.Equal(t, "2.1.0", log.Version)
	require.Len(t, log.Runs[0].Results, len(want))
	code, stdout, _ = savant("review", "main..main")
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, "There is nothing to review.")
	require.Contains(t, stdout, "0 of 0 changed lines")

	// Without a report nothing is on stdout, and no part of a name is a form.
	code, stdout, stderr = savant("review", "nosuch")
	require.Equal(t, exitInvalid, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, `"nosuch"`)
	code, stdout, stderr = savant("review", "feature", "--output", "mark")
	require.Equal(t, 2, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "expected markdown, json or sarif")
}
