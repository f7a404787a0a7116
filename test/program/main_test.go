package program

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands"
	"savant/cmd/savant/terminal"
	"savant/engines/mcpio"
	"savant/internal/clientsetup"
	"savant/internal/settings"
	"savant/test/golden"
)

var update = flag.Bool("update", false, "write golden files anew")

// quickExit keeps processes with the race detector from sleeping a second before
// they end.
const quickExit = "atexit_sleep_ms=0"

// TestMain lets scripts and tests run this binary as the program itself.
func TestMain(m *testing.M) {
	if err := os.Setenv("GORACE", quickExit); err != nil {
		panic(err)
	}
	testscript.Main(ownConfiguration{m}, map[string]func(){
		"savant":              func() { os.Exit(commands.Start("", nil)) },
		"savant-with-nothing": func() { os.Exit(serveWithNothing()) },
		"bare-journal":        bareJournal,
		"savant-in-scenario":  func() { os.Exit(inScenario()) },
		"savant-with-script":  func() { os.Exit(withScript()) },
		"savant-ledger":       func() { os.Exit(ledger()) },
		"savant-forge":        func() { os.Exit(serveForge()) },
	})
}

// ownConfiguration runs the tests with a folder of configuration of their own, where
// what is trusted is kept. The program itself, as which this binary may run, keeps
// the one it is given. Twice as many tests as processors run at once, unless -parallel
// says otherwise: half of their time they wait for other processes.
type ownConfiguration struct{ *testing.M }

func (m ownConfiguration) Run() int {
	folder, err := os.MkdirTemp("", "savant-configuration-")
	if err == nil {
		defer os.RemoveAll(folder)
		err = errors.Join(os.Setenv("XDG_CONFIG_HOME", folder), flag.Set("test.parallel", strconv.Itoa(2*runtime.NumCPU())))
	}
	if err != nil {
		panic(err)
	}
	return m.M.Run()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts())
}

// inShort are the scripts that run in short mode, as with the race detector: calls that
// arrive at once, and commands that make one call. The others are long rows of commands,
// each of which does one thing and ends.
var inShort = []string{"call", "serve"}

// skipInShort skips a test that only drives commands which do one thing after the
// other: the race detector would find nothing in them, and starts each ten times slower.
func skipInShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it only drives commands that do one thing after the other")
	}
}

// scripts are those of testdata, which may be changed before they run.
func scripts() testscript.Params {
	folder, files := "testdata/scripts", []string(nil)
	if testing.Short() {
		for _, name := range inShort {
			files = append(files, filepath.Join(folder, name+".txtar"))
		}
		folder = ""
	}
	return testscript.Params{
		Dir:                 folder,
		Files:               files,
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", quickExit)
			sources, err := filepath.Abs("../..")
			if err != nil {
				return err
			}
			env.Setenv("SOURCES", sources)
			env.Setenv("GOGC", os.Getenv("GOGC"))
			if folder, err := os.UserCacheDir(); err == nil { // scripts need not compile the library
				env.Setenv("GOCACHE", cmp.Or(os.Getenv("GOCACHE"), filepath.Join(folder, "go-build")))
			}
			env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			configuration, err := os.MkdirTemp("", "savant-configuration-") // not in the folder that scripts work in
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(configuration) })
			env.Setenv("XDG_CONFIG_HOME", configuration)
			env.Setenv("CONFIGURATION", configuration)
			env.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				env.Setenv("GIT_"+who+"_NAME", "Ada")
				env.Setenv("GIT_"+who+"_EMAIL", "ada@example.org")
				env.Setenv("GIT_"+who+"_DATE", "2026-01-02T03:04:05Z")
			}
			return nil
		},
		Condition: func(condition string) (bool, error) {
			if condition == "mongo" {
				return false, nil
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"answered": answered,
			"decides":  decides,
			"empty":    empty,
			"digest":   digest,
			"expand":   expand,
			"receipt":  receipt,
			"question": question,
		},
	}
}

// expand writes a file with the program's own name in the place of SAVANT:
// expand FROM TO.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	self, err := exec.LookPath("savant")
	ts.Check(err)
	to := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(to), 0o700))
	ts.Check(os.WriteFile(to, []byte(strings.ReplaceAll(ts.ReadFile(args[0]), "SAVANT\"", self+"\"")), 0o600))
}

// digest puts the digest that savant trust --list --json printed into a variable:
// digest FILE NAME.
func digest(ts *testscript.TestScript, _ bool, args []string) {
	var listed struct{ Digest string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &listed))
	ts.Setenv(args[1], listed.Digest)
}

// question puts the name of the question about a call that savant rules status printed
// last into a variable.
func question(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(`call:[0-9a-f]{16}`).FindString(ts.ReadFile("stdout"))
	ts.Setenv(args[0], found)
}

// exits runs a command and checks its exit code: exits 3 savant verify r1.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG…]")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("%s exited with %s, expected %s", args[1], code, args[0])
	}
}

// answered checks that stdout is nothing but JSON-RPC, with exactly one answer
// to each id: answered 1 2 3.
func answered(ts *testscript.TestScript, neg bool, args []string) {
	open := map[string]bool{}
	for _, id := range args {
		open[id] = true
	}
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile("stdout")))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var message struct {
			JSONRPC string
			ID      *int
			Method  string
		}
		ts.Check(json.Unmarshal(lines.Bytes(), &message))
		if message.JSONRPC != "2.0" {
			ts.Fatalf("not JSON-RPC: %s", lines.Text())
		}
		if message.Method != "" || message.ID == nil {
			continue
		}
		id := strconv.Itoa(*message.ID)
		if !open[id] {
			ts.Fatalf("an answer to %s, which was not asked or was answered before", id)
		}
		delete(open, id)
	}
	if len(open) > 0 {
		ts.Fatalf("not answered: %v", open)
	}
}

// empty checks that a folder holds nothing but what is named: empty DIR [NAME…].
func empty(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	expected := map[string]bool{}
	for _, name := range args[1:] {
		expected[name] = true
	}
	for _, entry := range entries {
		if !expected[entry.Name()] {
			ts.Fatalf("%s was written in %s", entry.Name(), args[0])
		}
	}
}

// The exit codes that tests expect.
const (
	exitOK            = 0
	exitInvalid       = 3
	exitConfiguration = 4
	exitPending       = 8
	exitInterrupted   = 130
	exitConflict      = 6
)

// run is the program with an environment of its own, in this process.
func run(ctx context.Context, args, environment []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runWith(ctx, nil, args, environment, stdin, stdout, stderr)
}

// runWith has other engines than the program's own.
func runWith(ctx context.Context, engines func(*app.App) error, args, environment []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return commands.Run(ctx, args, cli.World{Environment: environment, Stdin: stdin, Stdout: stdout, Stderr: stderr, Engines: engines})
}

// openApp is the program put together, without a command.
func openApp(t testing.TB, folder string) *app.App {
	t.Helper()
	environment := []string{"SAVANT_PATH=" + folder, "LOG_LEVEL=error"}
	loaded, err := settings.Load(func(settings.Setting) (string, bool) { return "", false },
		func(row settings.Setting) (string, bool) { return app.Variable(environment, row.Env) }, app.Trust(environment))
	require.NoError(t, err)
	a, err := app.Open(t.Context(), app.Options{Environment: environment, Settings: loaded, Stderr: io.Discard})
	require.NoError(t, err)
	return a
}

// Every tool can be published, and its schemas compile: the server leaves the first to this
// test, the registry the second to the first call.
func TestEveryToolIsSound(t *testing.T) {
	t.Parallel()
	a := openApp(t, t.TempDir())
	require.NotEmpty(t, a.Tools.Tools())
	for _, tool := range a.Tools.Tools() {
		require.NoError(t, mcpio.Publishable(tool), tool.Name)
		var listed any
		require.NoError(t, json.Unmarshal(tool.ListedInput(), &listed))
		hasProperties(t, tool.Name, listed)
	}
	require.NoError(t, a.Close(t.Context()))
}

// hasProperties holds each object of a schema to properties, which the APIs of some models want.
func hasProperties(t *testing.T, where string, schema any) {
	switch is := schema.(type) {
	case map[string]any:
		if is["type"] == "object" {
			require.Contains(t, is, "properties", where)
		}
		for name, each := range is {
			hasProperties(t, where+"/"+name, each)
		}
	case []any:
		for _, each := range is {
			hasProperties(t, where, each)
		}
	}
}

// maxThinkList and maxSetupList are what the lists of think's tools and of what setup
// publishes may take of a model's context, in bytes of JSON.
const (
	maxThinkList = 8 << 10
	maxSetupList = 40_000
)

// TestListsAreShort holds what the server answers clients of each revision, and Claude Code,
// to its length: with a title for each tool where the client looks for it, and an icon.
func TestListsAreShort(t *testing.T) {
	t.Parallel()
	clients := map[string]string{
		"2025-11-25 host":        "2025-11-25",
		"2025-11-25 claude-code": "2025-11-25",
		"2025-03-26 host":        "2025-03-26",
		"2026-07-28 host":        "2026-07-28",
	}
	for services, longest := range map[string]int{"think": maxThinkList, clientsetup.Services: maxSetupList} {
		for client, revision := range clients {
			list := listFor(t, services, revision, strings.TrimPrefix(client, revision+" "))
			require.Less(t, len(list), longest, "%s for %s", services, client)
			tools := strings.Count(list, `"inputSchema":`)
			require.NotZero(t, tools, list)
			inAnnotations := revision < "2025-06-18" || strings.HasSuffix(client, "claude-code")
			require.Equal(t, inAnnotations, strings.Count(list, `"annotations":{"title":"`) == tools, client)
			require.Equal(t, tools, strings.Count(list, `"title":"`)-strings.Count(list, `"title":"Savant"`), client)
			require.Equal(t, revision >= "2025-11-25", strings.Count(list, `"icons":[{"src":"data:image/png;base64,iVBOR`) == tools, client)
		}
	}
}

// listFor returns the reply of tools/list for a client of a revision.
func listFor(t *testing.T, services, revision, client string) string {
	t.Helper()
	c := formClient{t, serveIn(t, t.TempDir(), "MCP_SERVICE="+services)}
	meta := `{}`
	if revision >= "2026-07-28" {
		meta = `{"io.modelcontextprotocol/protocolVersion":"` + revision + `","io.modelcontextprotocol/clientInfo":{"name":"` + client + `","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	} else {
		c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"` + client + `","version":"1"}}}`)
		c.hear()
	}
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":` + meta + `}}`)
	require.True(t, c.s.lines.Scan())
	return c.s.lines.Text()
}

// TestPublishedList holds the list of tools that clients of think see.
func TestPublishedList(t *testing.T) {
	t.Parallel()
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"tools", "--json"}, []string{"MCP_SERVICE=think", "SAVANT_PATH=" + t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
	require.Zero(t, code, stderr.String())
	require.Less(t, stdout.Len(), maxThinkList)
	var list any
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &list))
	got, err := terminal.Indented(list)
	require.NoError(t, err)

	golden.Compare(t, *update, filepath.Join("testdata", "tools_think.json"), got)
}
