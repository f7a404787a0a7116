package lsp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/rules"
	"savant/think"
	"savant/think/check"
	"savant/think/library"
)

// shelf is a project with some files and one tool.
type shelf struct{ fstest.MapFS }

func (shelf) Names() []string { return []string{"git.log", "think.plan"} }

func (shelf) Tool(name string) (rules.Tool, bool) {
	return rules.Tool{Own: true, ReadOnly: true, Input: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"limit":{"type":"integer","description":"How many."}}}`),
		Output: json.RawMessage(`{"type":"object","required":["commits"],"properties":{"commits":{"type":"array","items":{"type":"object","properties":{"hash":{"type":"string"}}}}}}`)}, name == "git.log"
}

func (shelf) Describe(string) string { return "Lists commits." }
func (shelf) Folder() string         { return "/project" }

func (p shelf) Engine(over func(fs.FS) fs.FS) *think.Engine {
	return think.New(think.Options{Library: library.New(library.Layer{Files: savant.Files}, library.Layer{Files: over(p.MapFS)}), Tools: stepTools{shelf: p}})
}

// stepTools are the tools of a shelf as those of steps.
type stepTools struct {
	think.AnyTools
	shelf
}

func (s stepTools) Names() []string        { return s.shelf.Names() }
func (s stepTools) Known(name string) bool { _, known := s.Tool(name); return known }
func (s stepTools) Schemas(name string) (check.Tool, bool) {
	tool, known := s.Tool(name)
	return check.Tool{Input: tool.Input, Output: tool.Output, Own: true}, known
}

// editor is the other side.
type editor struct {
	t      testing.TB
	frames *frames
	heard  chan []byte
	last   int
	// told are the notifications that came while an answer was awaited.
	told []notification
}

type notification struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params published       `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// begin starts a server on files.
func begin(t testing.TB, files map[string]string) *editor {
	t.Helper()
	on := fstest.MapFS{}
	for name, content := range files {
		on[name] = &fstest.MapFile{Data: []byte(content)}
	}
	in, writer := io.Pipe()
	reader, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), in, out, shelf{on}, slog.New(slog.DiscardHandler)) }()
	e := &editor{t: t, frames: &frames{from: bufio.NewReaderSize(reader, 1<<20), to: writer, end: func() error { return nil }}, heard: make(chan []byte, 1000)}
	go func() {
		for {
			message, err := e.frames.Recv()
			if err != nil {
				return
			}
			e.heard <- message
		}
	}()
	t.Cleanup(func() {
		_ = writer.Close()
		require.NoError(t, <-ended)
		_ = out.Close()
	})
	e.call("initialize", map[string]any{"capabilities": map[string]any{}}, nil)
	e.send(map[string]any{"jsonrpc": "2.0", "method": "initialized", "params": map[string]any{}})
	return e
}

func (e *editor) send(message any) {
	text, err := json.Marshal(message)
	require.NoError(e.t, err)
	require.NoError(e.t, e.frames.Send(text))
}

func (e *editor) receive() (got notification) {
	message := <-e.heard
	require.NoError(e.t, json.Unmarshal(message, &got), string(message))
	return got
}

// call asks and returns the error's text, "" for none.
func (e *editor) call(method string, params, into any) string {
	e.last++
	e.send(map[string]any{"jsonrpc": "2.0", "id": e.last, "method": method, "params": params})
	for {
		got := e.receive()
		switch {
		case got.ID == nil:
			e.told = append(e.told, got)
		case *got.ID == e.last:
			if into != nil {
				require.NoError(e.t, json.Unmarshal(got.Result, into), string(got.Result))
			}
			return string(got.Error)
		}
	}
}

func uri(file string) string { return "file:///project/" + file }

// write opens or changes a file, and returns what is wrong with it: line:character
// severity message, without notes.
func (e *editor) write(file string, version int, text string) (found []string) {
	method, params := "didChange", map[string]any{"textDocument": map[string]any{"uri": uri(file), "version": version}, "contentChanges": []any{map[string]any{"text": text}}}
	if version == 1 {
		method, params = "didOpen", map[string]any{"textDocument": map[string]any{"uri": uri(file), "version": version, "text": text}}
	}
	e.send(map[string]any{"jsonrpc": "2.0", "method": "textDocument/" + method, "params": params})
	return e.found(file, version)
}

// found waits for what is wrong with a version of a file.
func (e *editor) found(file string, version int) (found []string) {
	for {
		var got notification
		if len(e.told) > 0 {
			got, e.told = e.told[0], e.told[1:]
		} else {
			got = e.receive()
		}
		if got.Method != "textDocument/publishDiagnostics" || got.Params.URI != uri(file) || *got.Params.Version != version {
			continue
		}
		for _, each := range got.Params.Diagnostics {
			if each.Severity == severityInformation {
				continue
			}
			found = append(found, fmt.Sprintf("%d:%d-%d %d %s", each.Range.Start.Line, each.Range.Start.Character, each.Range.End.Character, each.Severity, each.Message))
		}
		return found
	}
}

// splitCursor returns where | stands in a text, and the text without it.
func splitCursor(file, text string) (string, map[string]any) {
	before, after, _ := strings.Cut(text, "|")
	line := strings.Count(before, "\n")
	own := before[strings.LastIndex(before, "\n")+1:]
	return before + after, map[string]any{"textDocument": map[string]any{"uri": uri(file)}, "position": map[string]any{"line": line, "character": len(utf16.Encode([]rune(own)))}}
}

const file = "workflows/shipped.yaml"

// head is the beginning of a workflow that is right.
const head = `name: shipped
version: "1.0"
params:
  count: {type: integer, required: true}
steps:
  - id: log
    call: git.log
    input_template: {limit: 3}
    capture_as: commits
`

// TestWhatIsWrongIsToldWhileOneTypes goes from a mistake to a cured text.
func TestWhatIsWrongIsToldWhileOneTypes(t *testing.T) {
	e := begin(t, nil)
	const say = "  - {id: say, call: flow.set, input_template: {value: \"🚀 {{ commits.commitz }}\"}}\noutputs: {said: \"{{ steps.say.status }}\"}\n"
	found := e.write(file, 1, head+say)
	require.Len(t, found, 1, found)
	require.Regexp(t, `^9:\d+-\d+ 1 commits has no field "commitz": did you mean "commits"`, found[0])

	var cures []action
	e.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uri(file)}, "range": map[string]any{"start": map[string]any{"line": 9}, "end": map[string]any{"line": 9}}}, &cures)
	require.Len(t, cures, 1)
	change := cures[0].Edit.Changes[uri(file)][0]
	require.Equal(t, "commits", change.NewText)
	line := []rune(strings.Split(head+say, "\n")[9])
	at := change.Range.Start.Character - 1 // the rocket has two units, and is one character
	cured := string(line[:at]) + change.NewText + string(line[change.Range.End.Character-1:])
	require.Empty(t, e.write(file, 2, strings.Replace(head+say, string(line), cured, 1)))
}

// TestTextsOfTheEditorCountForEachOther changes a workflow under its cases, and rules.
func TestTextsOfTheEditorCountForEachOther(t *testing.T) {
	const testCases = "workflow: shipped\ncases:\n  - name: a\n    params: {count: 1}\n    answers: {log: {commits: []}}\n    expect: {outcome: done}\n"
	e := begin(t, map[string]string{file: head})
	require.Empty(t, e.write("workflows/shipped.cases.yaml", 1, testCases))
	require.Empty(t, e.write(file, 1, head))
	e.told = nil
	e.send(map[string]any{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": map[string]any{"textDocument": map[string]any{"uri": uri(file), "version": 2},
		"contentChanges": []any{map[string]any{"text": strings.Replace(head, "id: log", "id: look", 1)}}}})
	for found := []string{}; len(found) == 0; { // the cases name a step that is gone
		found = e.found("workflows/shipped.cases.yaml", 1)
	}
	other := e.write("workflows/shipped.cases.yaml", 2, strings.NewReplacer("workflow: shipped", "workflow: hello", "log:", "look:").Replace(testCases))
	require.Contains(t, strings.Join(other, " "), `it tests "hello", and this is the file of shipped`)
	found := e.write("rules/few.yaml", 1, "rules:\n  - name: few\n    before: git.lag\n    deny: {where: \"true\"}\n")
	require.NotEmpty(t, found)
	require.NotEmpty(t, e.write("rules/few.cases.yaml", 1, "cases: 3\n"))
	require.Empty(t, e.write("notes.yaml", 1, "anything: [goes\n"), "it is none of ours")
	require.NotEmpty(t, e.write("workflows/broken.yaml", 1, "steps: [\n"))
}

// TestRulesAreJudgedTogether opens two files of rules that forbid each other's way, beside
// one that cannot be read.
func TestRulesAreJudgedTogether(t *testing.T) {
	const forbids = "rules: [{id: stop, before: git.log, deny: true}]\n"
	needs := "evidence: {seen: {last: git.log}}\nrules: [{id: few, before: git.push, require: [{needs: seen}]}]\n"
	e := begin(t, map[string]string{"rules/broken.yaml": "rules: [\n", "rules/stop.yaml": forbids})
	require.Contains(t, strings.Join(e.write("rules/few.yaml", 1, needs), " "), "rule stop forbids every call of git.log")
	require.Empty(t, e.write("rules/stop.yaml", 1, strings.Replace(forbids, "deny: true", "deny: true, mode: warn", 1)), "it is in the editor now, and forbids less")
	require.NotContains(t, strings.Join(e.write("rules/few.yaml", 2, needs+"\n"), " "), "can never be met")
}

// TestWhatCouldBeWritten completes at |.
func TestWhatCouldBeWritten(t *testing.T) {
	e := begin(t, nil)
	for i, c := range []struct {
		text, want, not string
	}{
		{head + "  - id: b\n    ca|", "call capture_as when", "id"},
		{head + "  - id: b\n    call: g|", "git.log llm.generate flow.set", "think.plan"},
		{head + "  - {id: b, call: git.log, input_template: {|", "limit", "id"},
		{head + "  - id: b\n    join: |", "all any done success", ""},
		{head + "  - id: b\n    call: flow.assert\n    deps: [l|", "log b", ""},
		{head + "  - id: b\n    call: flow.assert\n    when: |", "params steps commits len", "call"},
		{head + "  - id: b\n    call: flow.assert\n    when: params.|", "count", "commits"},
		{head + "  - id: b\n    call: flow.assert\n    when: state.commits.|", "commits", "count"},
		{head + "  - id: b\n    call: flow.assert\n    when: steps.log.|", "status error reason", "log"},
		{head + "outputs:\n  a: \"{{ commits.|", "commits", "params"},
		{head + "  - id: b\n    call: flow.run\n    input_template: {workflow: |", "hello", ""},
		{"na|", "name steps params", ""},
		{head + "  - id: b\n    call: flow.set\n    foreach: commits.commits\n    as: one\n    input_template: {value: \"{{ one.|", "hash", "commits"},
		{head + "  - id: b\n    call: flow.set\n    when: any(commits.commits, .|", "hash", "commits"},
		{head + "  - id: b\n    call: flow.set\n    when: any(commits.commits, len(#.|", "hash", "commits"},
		{head + "  - id: b\n    call: git.log\n    extract: result.|", "commits", "hash"},
		{head + "  - id: b\n    call: flow.set\n    when: |", "count params commits", "call"},
	} {
		text, at := splitCursor(file, c.text)
		e.write(file, i+1, text)
		var got completions
		require.Empty(t, e.call("textDocument/completion", at, &got))
		labels := []string{}
		for _, each := range got.Items {
			labels = append(labels, each.Label)
		}
		require.Subset(t, labels, strings.Fields(c.want), c.text)
		if c.not != "" {
			require.NotContains(t, labels, c.not, c.text)
		}
	}
	text, at := splitCursor("workflows/shipped.cases.yaml", "workflow: shipped\ncases:\n  - name: a\n    answers: {l|")
	e.write(file, 99, head)
	e.write("workflows/shipped.cases.yaml", 1, text)
	var got completions
	e.call("textDocument/completion", at, &got)
	require.True(t, slices.ContainsFunc(got.Items, func(each completion) bool { return each.Label == "log" }), got)
}

// TestWhatRulesCouldSay completes in a file of rules, at |.
func TestWhatRulesCouldSay(t *testing.T) {
	const evidence = "facts: {limit: 3}\nevidence:\n  seen:\n    last: git.log\nrules:\n  - id: few\n    before: git.log\n"
	e := begin(t, nil)
	for i, c := range []struct{ text, want string }{
		{evidence + "    when: |", "input seen facts calls len"},
		{evidence + "    when: input.|", "limit"},
		{evidence + "    when: facts.|", "limit"},
		{evidence + "    per: input.|", "limit"},
		{evidence + "    require: [{needs: |", "seen"},
		{evidence + "    require: [{that: \"seen.result.|", "commits"},
		{strings.Replace(evidence, "git.log\nrules", "git.log\n    where: {|}\nrules", 1), "limit"},
	} {
		text, at := splitCursor("rules/few.yaml", c.text)
		e.write("rules/few.yaml", i+1, text)
		var got completions
		require.Empty(t, e.call("textDocument/completion", at, &got))
		labels := []string{}
		for _, each := range got.Items {
			labels = append(labels, each.Label)
		}
		require.Subset(t, labels, strings.Fields(c.want), c.text)
		require.NotContains(t, labels, "state", c.text)
	}
	text, at := splitCursor("rules/few.yaml", evidence+"    require: [{that: \"se|en.at > 0\"}]\n")
	e.write("rules/few.yaml", 99, text)
	var to location
	e.call("textDocument/definition", at, &to)
	require.Equal(t, 2, to.Range.Start.Line)
	text, at = splitCursor("rules/few.yaml", strings.Replace(evidence, "{limit", "{limitless: {limit: no}, limit", 1)+"    when: facts.lim|it > 0\n")
	e.write("rules/few.yaml", 100, text)
	e.call("textDocument/definition", at, &to)
	require.Equal(t, span{position{0, 32}, position{0, 37}}, to.Range)
	var all []symbol
	e.call("textDocument/documentSymbol", at, &all)
	require.Len(t, all, 1)
	require.Equal(t, "few", all[0].Name)
}

// TestWhatTheRulesOfAWorkflowCouldSay completes in both forms, at |.
func TestWhatTheRulesOfAWorkflowCouldSay(t *testing.T) {
	const steps = "steps:\n  - {id: look, call: git.log, capture_as: found}\n"
	const begins = "name: few\nversion: \"1\"\nparams: {most: {type: integer, default: 5}}\n"
	const evidence = "rules:\n  facts: {limit: 3}\n  evidence:\n    seen:\n      last: git.log\n  rules:\n    - id: few\n      before: git.log\n"
	e := begin(t, nil)
	e.write("workflows/few.yaml", 1, begins+steps)
	for i, c := range []struct{ text, want string }{
		{evidence + "      when: |", "input seen facts calls params state"},
		{evidence + "      when: input.|", "limit"},
		{evidence + "      when: facts.|", "limit"},
		{evidence + "      when: params.|", "most"},
		{evidence + "      when: state.|", "found"},
		{evidence + "      require: [{needs: |", "seen"},
		{evidence + "      |", "when require deny once"},
		{"rules:\n  - id: a\n    before: |", "git.log"},
		{"rules:\n  - id: a\n    before: git.log\n    when: input.|", "limit"},
		{"rules:\n  - id: a\n    |", "before when require deny"},
	} {
		text, at := splitCursor("workflows/few.yaml", begins+steps+c.text)
		e.write("workflows/few.yaml", i+2, text)
		var got completions
		require.Empty(t, e.call("textDocument/completion", at, &got))
		labels := []string{}
		for _, each := range got.Items {
			labels = append(labels, each.Label)
		}
		require.Subset(t, labels, strings.Fields(c.want), c.text)
	}
}

// TestACureIsJudged makes each change that is offered: what it is about is gone, and
// nothing else is wrong in its place.
func TestACureIsJudged(t *testing.T) {
	e := begin(t, nil)
	const may = "  - {id: may, call: flow.set, when: \"params.count > 1\", input_template: {value: 1}, capture_as: once}\n"
	for i, c := range []struct {
		text string
		want int
	}{
		{head + may + "  - {id: b, call: flow.set, deps: [may], input_template: {value: \"{{ commits.commits }}\"}}\n", 2},
		{head + may + "  - id: b\n    call: flow.set\n    deps: [may]\n    input_template: {value: \"{{ commits.commits }}\"}\n", 2},
		{head + "  - {id: b, call: flow.set, deps: [lug], input_template: {value: 1}}\n", 1},
		{strings.Replace(head, "git.log", "git.lgo", 1), 1},
	} {
		found := e.write(file, 2*i+1, c.text)
		require.Len(t, found, 1, c.text)
		line, _, _ := strings.Cut(found[0], ":")
		number, err := strconv.Atoi(line)
		require.NoError(t, err)
		in := map[string]any{"textDocument": map[string]any{"uri": uri(file)}, "range": map[string]any{"start": map[string]any{"line": number}, "end": map[string]any{"line": number}}}
		var cures []action
		e.call("textDocument/codeAction", in, &cures)
		require.Len(t, cures, c.want, c.text)
		for k, each := range cures {
			edit := each.Edit.Changes[uri(file)][0]
			rows := strings.Split(c.text, "\n")
			rows[number] = rows[number][:edit.Range.Start.Character] + edit.NewText + rows[number][edit.Range.End.Character:]
			require.Empty(t, e.write(file, 100*(i+1)+k, strings.Join(rows, "\n")), each.Title)
		}
	}
}

// TestWhatANameMeans hovers over |, and goes to what it names.
func TestWhatANameMeans(t *testing.T) {
	const end = "  - {id: end, call: flow.run, deps: [log], input_template: {workflow: other}}\n"
	e := begin(t, map[string]string{"workflows/other.yaml": head})
	for i, c := range []struct{ text, said, goes string }{
		{strings.Replace(head, "git.log", "git.l|og", 1) + end, "**git.log**: Lists commits.", ""},
		{strings.Replace(head, "limit", "lim|it", 1) + end, "How many.", ""},
		{strings.Replace(head, "capture_as", "capt|ure_as", 1) + end, "The result is kept as state.NAME.", ""},
		{head + end + "outputs: {a: \"{{ comm|its.commits }}\"}\n", "`commits`: an object with commits", "shipped.yaml:8"},
		{head + end + "outputs: {a: \"{{ steps.l|og.status }}\"}\n", "step `log`, git.log", "shipped.yaml:5"},
		{head + strings.Replace(end, "[log", "[l|og", 1), "", "shipped.yaml:5"},
		{head + end + "outputs: {a: \"{{ params.co|unt }}\"}\n", "`params.count`: an integer", "shipped.yaml:3"},
		{head + end + "outputs: {a: \"{{ co|unt }}\"}\n", "`count`: an integer", "shipped.yaml:3"},
		{head + strings.Replace(end, "workflow: other", "workflow: ot|her", 1), "", "other.yaml:0"},
	} {
		text, at := splitCursor(file, c.text)
		e.write(file, i+1, text)
		var said hover
		e.call("textDocument/hover", at, &said)
		require.Contains(t, said.Contents.Value, c.said, c.text)
		if c.goes != "" {
			var to location
			e.call("textDocument/definition", at, &to)
			require.Equal(t, c.goes, fmt.Sprintf("%s:%d", to.URI[strings.LastIndex(to.URI, "/")+1:], to.Range.Start.Line), c.text)
		}
	}
	var all []symbol
	e.call("textDocument/documentSymbol", map[string]any{"textDocument": map[string]any{"uri": uri(file)}}, &all)
	require.Len(t, all, 2)
	require.Equal(t, []string{"log", "end"}, []string{all[0].Name, all[1].Name})
	require.Equal(t, "flow.run", all[1].Detail)
}

// TestGarbageIsSurvived sends what is no message, and cancels.
func TestGarbageIsSurvived(t *testing.T) {
	e := begin(t, nil)
	for _, each := range []string{"garbage\r\n\r\n", strings.Repeat("x", 1<<17) + "\n", "Content-Length: 5\r\n\r\n{{{{{", "Content-Length: -1\r\n\r\n", "Content-Length: 4\r\n\r\nnull",
		"Content-Length: 2\r\nContent-Type: any\r\n\r\n[]"} {
		_, err := e.frames.to.Write([]byte(each))
		require.NoError(t, err)
	}
	e.send(map[string]any{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": map[string]any{"id": 77}})
	e.send(map[string]any{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": map[string]any{"textDocument": map[string]any{"uri": "nonsense"}}})
	require.Contains(t, e.call("no/such", nil, nil), "-32601")
	for _, params := range []any{map[string]any{}, map[string]any{"textDocument": map[string]any{"uri": uri(file)}, "position": map[string]any{"line": -4, "character": 1 << 30}}} {
		for _, method := range []string{"completion", "hover", "definition", "documentSymbol", "codeAction"} {
			require.Empty(t, e.call("textDocument/"+method, params, nil), method)
		}
	}
	require.NotEmpty(t, e.write(file, 1, strings.Repeat("[", 1<<16)))
	require.Empty(t, e.write(file, 2, head))
	require.Empty(t, e.call("shutdown", nil, nil))
}

// FuzzPlace reads places in any text.
func FuzzPlace(f *testing.F) {
	f.Add(head+"  - {id: a, deps: [", 9, 20)
	f.Add("- - a: {b: [c, 'd", 0, 12)
	f.Fuzz(func(_ *testing.T, text string, line, at int) {
		all := linesOf(text)
		number := max(0, min(line, len(all)-1))
		p := placeAt(all, number, max(0, min(at, len(all[number]))))
		p.readsExpression(ofWorkflow)
		stepLines(all)
	})
}

// TestOneOfTwoMistakesIsCured: a line has the same mistake twice, and each cure takes one away.
func TestOneOfTwoMistakesIsCured(t *testing.T) {
	e := begin(t, nil)
	text := head + "  - {id: say, call: flow.set, input_template: {value: \"{{ commits.commitz }} 😀 {{ commits.commitz }}\"}}\n"
	require.Len(t, e.write(file, 1, text), 2)
	var cures []action
	e.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uri(file)}, "range": map[string]any{"start": map[string]any{"line": 9}, "end": map[string]any{"line": 9}}}, &cures)
	require.Len(t, cures, 2)
	units := utf16.Encode([]rune(strings.Split(text, "\n")[9]))
	for _, each := range slices.Backward(cures) {
		edit := each.Edit.Changes[uri(file)][0]
		units = slices.Concat(units[:edit.Range.Start.Character], utf16.Encode([]rune(edit.NewText)), units[edit.Range.End.Character:])
	}
	require.Empty(t, e.write(file, 2, head+string(utf16.Decode(units))+"\n"))
}

// TestAFolderHasSeveralNames: an editor may open the project by a link to it, and lines may
// end as on old computers.
func TestAFolderHasSeveralNames(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Skip(err)
	}
	require.Equal(t, "workflows/a b.yaml", relativePath(folder, address(filepath.Join(link, "workflows", "a b.yaml"))))
	require.Equal(t, "workflows/a.yaml", relativePath(link, address(filepath.Join(folder, "rules", "..", "workflows", "a.yaml"))))
	require.Empty(t, relativePath(folder, address(filepath.Join(filepath.Dir(folder), "other", "workflows", "a.yaml"))))
	require.Empty(t, relativePath(folder, "untitled:a.yaml"))
	require.Equal(t, elsewhere, (&server{project: shelf{}}).document("file:///other/workflows/a.yaml").kind)
	require.Equal(t, unknown, (&server{project: shelf{}}).document("file:///other/.github/workflows/a.yaml").kind)
	require.Equal(t, lines{"a", "b", "c", ""}, linesOf("a\rb\r\nc\n"))
}
