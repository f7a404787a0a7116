package savant_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think"
	"savant/think/library"
	"savant/think/state"
)

// pages are the documents whose examples are run.
func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	return append(list, "README.md")
}

var (
	fenced   = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	exchange = regexp.MustCompile("(?s)<!-- run: ([a-z._]+) -->\n```json\n(.*?)```.*?<!-- reply -->\n```json\n(.*?)```")
)

// TestDocumentedWorkflowsAreValid checks every complete workflow in the documents with
// the parser, the linker and the published schema.
func TestDocumentedWorkflowsAreValid(t *testing.T) {
	library := library.New(library.Layer{Files: savant.Files})
	set, err := library.Schemas()
	require.NoError(t, err)
	schema, err := set.Lookup("workflow")
	require.NoError(t, err)
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range fenced.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(block[1], "name:") {
				continue
			}
			found++
			workflow, err := library.Parse("", []byte(block[1]))
			require.NoError(t, err, "%s:\n%s", page, block[1])
			_, err = library.Compile(workflow)
			if err != nil {
				require.ErrorIs(t, err, fault.UnknownWorkflow, "%s:\n%s", page, block[1])
			}
			require.NoError(t, schema.Check(workflow.Parsed()), "%s:\n%s", page, block[1])
		}
	}
	require.Greater(t, found, 2)
}

// TestBundledWorkflowsFitTheirPublishedSchema checks that schemas/workflow.json accepts
// what the parser accepts.
func TestBundledWorkflowsFitTheirPublishedSchema(t *testing.T) {
	library := library.New(library.Layer{Files: savant.Files})
	set, err := library.Schemas()
	require.NoError(t, err)
	schema, err := set.Lookup("workflow")
	require.NoError(t, err)
	for _, entry := range library.List() {
		require.NoError(t, entry.Err, entry.Name)
		require.NoError(t, schema.Check(entry.Workflow.Parsed()), entry.Name)
		_, err := library.Compile(entry.Workflow)
		require.NoError(t, err, entry.Name)
	}
}

// TestDocumentedCallsAnswerAsWritten makes the calls of docs/tools.md in order and
// compares the replies.
func TestDocumentedCallsAnswerAsWritten(t *testing.T) {
	text, err := os.ReadFile("docs/tools.md")
	require.NoError(t, err)
	store, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: savant.Files}), Store: store,
		Now: time.Now, NewID: func() string { return "r1" }})
	t.Cleanup(func() {
		engine.Close()
		require.NoError(t, store.Close())
	})
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(guide.Tools(engine, guide.Hooks{})...))
	exchanges := exchange.FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(exchanges), 5)
	for _, each := range exchanges {
		reply, err := registry.Call(context.Background(), each[1], json.RawMessage(each[2]))
		var got []byte
		if err != nil {
			got, err = json.Marshal(fault.From(err))
		} else {
			got, err = json.Marshal(reply)
		}
		require.NoError(t, err)
		require.JSONEq(t, each[3], string(got), "%s %s", each[1], each[2])
	}
}

var (
	listed   = regexp.MustCompile("(?m)^\\| `([a-z/]+\\.go)` \\| (.*) \\|$")
	function = regexp.MustCompile("`(?:(\\w+)\\.)?(\\w+)`")
)

// longestWay bounds how many of Savant's functions a call of think.next goes through.
const longestWay = 30

// TestTheWayOfACallIsThere checks that each function named in docs/architecture.md is
// in its file, and counts the functions.
func TestTheWayOfACallIsThere(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	rows := listed.FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, rows)
	count := 0
	for _, row := range rows {
		source, err := os.ReadFile(row[1])
		require.NoError(t, err)
		for _, each := range function.FindAllStringSubmatch(row[2], -1) {
			receiver := ""
			if each[1] != "" {
				receiver = `\(\w+ \*?` + each[1] + `\) `
			}
			require.Regexp(t, `(?m)^func `+receiver+each[2]+`[\[(]`, string(source), "%s has no %s", row[1], each[0])
			count++
		}
	}
	require.LessOrEqual(t, count, longestWay)
}

// TestRunFileFitsItsPublishedSchema checks a run's state file with schemas/run.json.
func TestRunFileFitsItsPublishedSchema(t *testing.T) {
	root := t.TempDir()
	store, err := state.Open(root, state.Options{})
	require.NoError(t, err)
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: savant.Files}), Store: store,
		Now: time.Now, NewID: func() string { return "r1" }})
	_, err = engine.Plan(context.Background(), think.PlanInput{Workflow: "hello", Params: map[string]any{"name": "Ada"}})
	require.NoError(t, err)
	engine.Close()
	require.NoError(t, store.Close())
	set, err := schemas.Load(os.DirFS("schemas"))
	require.NoError(t, err)
	schema, err := set.Lookup("run")
	require.NoError(t, err)
	for _, name := range []string{".savant/state/hello/r1.json", ".savant/state/hello.json"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		value, err := jsonvalue.Decode(data)
		require.NoError(t, err)
		require.NoError(t, schema.Check(value), name)
	}
}

// TestEachPromiseOfSecurityNamesItsTest checks that the test files named in the last
// column of the table exist.
func TestEachPromiseOfSecurityNamesItsTest(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| promise | attack | test |\n| --- | --- | --- |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
		cells := strings.Split(strings.Trim(row, "|"), " | ")
		require.Len(t, cells, 3, row)
		tests := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1)
		require.NotEmpty(t, tests, row)
		for _, each := range tests {
			require.FileExists(t, each[1], row)
		}
	}
}

// TestTheLinksThatInstallHoldTheDocumentedServer decodes the links of VS Code and
// Cursor in docs/clients.md.
func TestTheLinksThatInstallHoldTheDocumentedServer(t *testing.T) {
	page, err := os.ReadFile("docs/clients.md")
	require.NoError(t, err)
	_, encoded, found := strings.Cut(string(page), "vscode:mcp/install?")
	require.True(t, found)
	encoded, _, _ = strings.Cut(encoded, "\n")
	text, err := url.QueryUnescape(encoded)
	require.NoError(t, err)
	wanted := `"command":"savant","args":["mcp"],"env":{"MCP_SERVICE":"think,git,context,ci,review,agent","SAVANT_PATH":"${workspaceFolder}"}}`
	require.JSONEq(t, `{"name":"savant","type":"stdio",`+wanted, text)

	_, encoded, found = strings.Cut(string(page), "cursor://anysphere.cursor-deeplink/mcp/install?")
	require.True(t, found)
	encoded, _, _ = strings.Cut(encoded, "\n")
	values, err := url.ParseQuery(encoded)
	require.NoError(t, err)
	require.Equal(t, "savant", values.Get("name"))
	decoded, err := base64.StdEncoding.DecodeString(values.Get("config"))
	require.NoError(t, err)
	require.JSONEq(t, `{`+wanted, string(decoded))
}
