package program

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// A part of a page: what a person types at prompts, lines separated by ";", a block of code with its language,
// or the heading of a section.
var parts = regexp.MustCompile("(?ms)^<!-- types: ([^\n]*) -->$|^```(\\w+)\n(.*?)^```$|^## ([^\n]*)$")

// fileName is the first line of a block that is a file: a comment with its name.
var fileName = regexp.MustCompile(`^(?:#|//) ([\w./-]+)\n`)

// TestTheTutorialWorks types what docs/tutorial.md shows, from its beginning to its end,
// with an empty home.
func TestTheTutorialWorks(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	page, err := os.ReadFile("../../docs/tutorial.md")
	require.NoError(t, err)
	follow(t, "tutorial", string(page))
}

// TestEachRecipeWorks does the same with docs/cookbook.md and docs/operate.md, with a new
// project for each section that shows output.
func TestEachRecipeWorks(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	for name, least := range map[string]int{"cookbook": 6, "operate": 2} {
		page, err := os.ReadFile("../../docs/" + name + ".md")
		require.NoError(t, err)
		recipes := 0
		for _, section := range sectionsOf(string(page)) {
			if !strings.Contains(section, "```console") {
				continue
			}
			recipes++
			title, _, _ := strings.Cut(strings.TrimLeft(section, "# "), "\n")
			t.Run(name+": "+title, func(t *testing.T) { follow(t, "recipe", section) })
		}
		require.GreaterOrEqual(t, recipes, least, name)
	}
}

// sectionsOf splits a page at its headings of the second level.
func sectionsOf(page string) (found []string) {
	begin := 0
	for _, at := range parts.FindAllStringSubmatchIndex(page, -1) {
		if at[8] >= 0 {
			found = append(found, page[begin:at[0]])
			begin = at[0]
		}
	}
	return append(found, page[begin:])
}

// follow makes a script of a page and runs it: it writes the files that the page shows,
// runs each command, and looks for each line that the page shows of its output. A "…" in
// such a line stands for anything, and a line of it alone for further lines. A command
// that fails is followed by the line "exit status N".
func follow(t *testing.T, name, page string) {
	t.Helper()
	for _, program := range []string{"git", "make", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	var script, files strings.Builder
	typed, count := "", 0
	file := func(content string) string {
		count++
		at := fmt.Sprintf("part%d", count)
		fmt.Fprintf(&files, "-- %s --\n%s", at, content)
		return "$WORK/" + at
	}
	for _, part := range parts.FindAllStringSubmatch(page, -1) {
		switch {
		case part[1] != "":
			typed = strings.ReplaceAll(part[1], ";", "\n") + "\n"
		case fileName.MatchString(part[3]):
			to := fileName.FindStringSubmatch(part[3])[1]
			fmt.Fprintf(&script, "mkdir %s\ncp %s %s\n", path.Dir(to), file(part[3]), to)
		case part[2] == "console" || part[2] == "sh":
			for _, each := range commandsOf(part[2], part[3]) {
				writeStep(&script, each, file, &typed)
			}
		}
	}
	require.Positive(t, count, "the page shows no command")
	at := filepath.Join(t.TempDir(), name+".txtar")
	require.NoError(t, os.WriteFile(at, []byte("mkdir $WORK/work $HOME\ncd $WORK/work\n"+script.String()+files.String()), 0o600))
	testscript.Run(t, readers(at))
}

// readers is how a reader's commands run: with nothing of the machine but programs, and
// the cache of Go.
func readers(file string) testscript.Params {
	params := scripts()
	params.Dir, params.Files, params.UpdateScripts = "", []string{file}, false
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
		env.Setenv("XDG_CONFIG_HOME", "")
		cache, err := os.UserCacheDir()
		env.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
		return err
	}
	params.Cmds["shows"] = shows
	return params
}

// shown is a command with what a page shows of its output.
type shown struct {
	command, status string
	output          []string
}

// commandsOf are the commands of a block: after "$ " in one of console, where their output
// follows, and each line of one of sh.
func commandsOf(language, block string) (found []shown) {
	joined := strings.ReplaceAll(block, "\\\n", "\\\n\x00")
	for line := range strings.SplitSeq(strings.TrimSuffix(joined, "\n"), "\n") {
		last := len(found) - 1
		command, typed := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "\x00"):
			found[last].command += "\n" + line[1:]
		case typed, language == "sh" && strings.TrimSpace(line) != "":
			found = append(found, shown{command: command, status: "0"})
		case last < 0 || strings.Trim(line, " …") == "":
		case strings.HasPrefix(line, "exit status "):
			found[last].status = strings.TrimPrefix(line, "exit status ")
		default:
			found[last].output = append(found[last].output, line)
		}
	}
	return found
}

func writeStep(script *strings.Builder, step shown, file func(string) string, typed *string) {
	if folder, changes := strings.CutPrefix(step.command, "cd "); changes {
		fmt.Fprintf(script, "cd %s\n", folder)
		return
	}
	prompts := ""
	if *typed != "" && strings.Contains(step.command, "savant ") {
		fmt.Fprintf(script, "[!unix] stop 'no pseudo-terminals'\nttyin -stdin %s\n", file(*typed))
		*typed, prompts = "", " prompts"
	}
	fmt.Fprintf(script, "exits %s sh %s\n", step.status, file(step.command+"\n"))
	if len(step.output) > 0 {
		fmt.Fprintf(script, "shows %s%s\n", file(strings.Join(step.output, "\n")+"\n"), prompts)
	}
}

// shows checks that each line of a file is in what the last command printed: shows FILE
// [prompts]. What is typed at a terminal is no part of its lines, so a line may follow a
// prompt.
func shows(ts *testscript.TestScript, _ bool, args []string) {
	printed := ts.ReadFile("stdout") + "\n" + ts.ReadFile("stderr") + "\n" + ts.ReadFile("ttyout")
	prompt := ""
	if len(args) > 1 {
		prompt = "(?:.* )?"
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*")
		if !regexp.MustCompile(`(?m)^` + prompt + `\s*` + pattern + `\s*$`).MatchString(printed) {
			ts.Fatalf("the page shows %q, and the program printed:\n%s", strings.TrimSpace(line), printed)
		}
	}
}
