package program

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// questions about this repository, with how the paths of files begin that answer
// each. The first is README's, and such a file has to be named first; of the others
// it has to be among those that are quoted.
var questions = []struct{ question, file string }{
	{"Where is the stdio loop and how does it end?", "engines/mcpio/serve.go"},
	{"How are secrets redacted?", "internal/redact/"},
	{"Where does the agent notice that it is stuck?", "agent/stuck.go"},
	{"How is a torn journal line dropped?", "internal/journal/journal.go"},
	{"How does policy deny a tool?", "agent/policy.go"},
	{"How is the prompt trimmed to its budget?", "reasoning/service/prompt.go"},
	{"Where is the trace file rotated?", "telemetry/"},
	{"Which environment variable sets the folder Savant works in?", "docs/configuration.md"},
	{"What does exit code 6 mean?", "docs/configuration.md"},
	{"How do I add my own engine?", "docs/engines.md"},
	{"What does witness required do?", "docs/language.md"},
	{"How many workflows are bundled?", "README.md"},
	{"Which tests cover the journal?", "internal/journal/journal_test.go"},
}

// answeredPlace is where an answer of the offline planner names a place.
var answeredPlace = regexp.MustCompile(`(?m)^\d\. ([^:\n]+):\d+`)

// TestTheAgentAnswersQuestionsAboutThisRepository asks the whole program, with
// the offline planner, about a copy of the sources.
func TestTheAgentAnswersQuestionsAboutThisRepository(t *testing.T) {
	skipInShort(t)
	folder := copyOfSources(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for i, each := range questions {
		t.Run(each.question, func(t *testing.T) {
			var stdout, stderr strings.Builder
			code := run(t.Context(), []string{"run", each.question}, []string{"SAVANT_PATH=" + folder, "LOG_LEVEL=warn"},
				strings.NewReader(""), &stdout, &stderr)
			require.Equal(t, exitOK, code, stderr.String())
			require.NotContains(t, stderr.String(), "level=", "nothing is to be warned of")
			var files []string
			for _, match := range answeredPlace.FindAllStringSubmatch(stdout.String(), -1) {
				files = append(files, match[1])
			}
			answers := func(file string) bool { return strings.HasPrefix(file, each.file) }
			require.True(t, slices.ContainsFunc(files, answers), "no %s in\n%s", each.file, stdout.String())
			require.True(t, i > 0 || answers(files[0]), stdout.String())
			require.NotRegexp(t, `(?m)^(the hits of|what) context\.`, stdout.String(), "what a tool answered was not understood")
		})
	}
}

// TestWhatCannotBeAnsweredFails: an answer that says nothing fits, or that nothing was
// changed, is printed, and the program exits as grep does without a match.
func TestWhatCannotBeAnsweredFails(t *testing.T) {
	skipInShort(t)
	folder := copyOfSources(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for goal, text := range map[string]string{"Why do zebras graze?": "Nothing fits", "Fix the typo in README.md": "Nothing was changed"} {
		var stdout, stderr strings.Builder
		code := run(t.Context(), []string{"run", goal}, []string{"SAVANT_PATH=" + folder, "LOG_LEVEL=warn"}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, 1, code, stderr.String())
		require.Contains(t, stdout.String(), text)
	}
}

// copyOfSources copies what a clone would hold, so that a run leaves nothing in
// the work tree. The file with the questions stays out: it holds all their words.
func copyOfSources(t *testing.T) string {
	t.Helper()
	root, folder := filepath.Join("..", ".."), t.TempDir()
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		skipped := slices.Contains([]string{"bin", "logs", "node_modules"}, base) || strings.HasPrefix(base, ".") && len(base) > 2
		if entry.IsDir() && skipped {
			return fs.SkipDir
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(folder, relative), 0o700)
		}
		if !entry.Type().IsRegular() || base == ".git" || base == "agent_questions_test.go" { // .git is a file in a linked work tree
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, relative), data, 0o600)
	}))
	return folder
}
