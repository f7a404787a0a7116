package hooks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/internal/jsonvalue"
	"savant/think/gate"
	"savant/think/gate/clients"
	"savant/think/gate/sessions"
	"savant/think/state"
)

// recorded are the calls that each client was seen, or is documented, to announce, as
// the client sent them.
func recorded(t *testing.T, client string) []json.RawMessage {
	file, err := os.Open(filepath.Join("..", "..", "..", "..", "think", "gate", "clients", "testdata", "events", client+".ndjson"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	var all []json.RawMessage
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var each struct{ Stdin json.RawMessage }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &each))
		all = append(all, each.Stdin)
	}
	require.NoError(t, lines.Err())
	return all
}

// project is a folder with a run of the workflow "w" that waits for one call.
func project(t *testing.T, run, call string, input json.RawMessage) string {
	folder := t.TempDir()
	store, err := state.Open(folder, state.Options{})
	require.NoError(t, err)
	issued, err := jsonvalue.Encode(map[string]any{"reply": map[string]any{"reply": map[string]any{"instruction": map[string]any{"step_id": "a", "call": call, "input": input}}}})
	require.NoError(t, err)
	_, err = store.Append(t.Context(), state.Key{Workflow: "w", Run: run}, state.Record{Version: 1, Kind: "plan", Status: "running", State: "s1", Data: issued})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	return folder
}

// bind binds the session of an event to a run, as its call of think.next does. prefix is
// the client's for Savant's tools.
func bind(t *testing.T, folder, run, prefix string, e gate.Event) {
	opened, err := sessions.Open(folder, sessions.Folder{}, time.Now)
	require.NoError(t, err)
	e.Kind, e.Tool, e.Input = gate.BeforeTool, prefix+"think_next", json.RawMessage(`{"run_id":"`+run+`","step_id":"none"}`)
	require.Equal(t, gate.Decision{}, opened.Ask(t.Context(), e))
	require.NoError(t, opened.Close())
}

// say gives a client's event to the hook, and checks the form of the answer.
func say(t *testing.T, client clients.Client, folder string, event []byte) (refused bool) {
	h := &hook{Program: &cli.Program{Stdin: bytes.NewReader(event), Stdout: &terminal.Output{Writer: io.Discard}, Stderr: io.Discard}}
	answer := h.answer(t.Context(), client, folder)
	refused = strings.Contains(answer.Stdout+answer.Stderr, "Refused")
	if answer.Exit != 0 { // Windsurf and Kiro read the status, and stderr
		require.Equal(t, 2, answer.Exit)
		require.True(t, refused)
		require.Empty(t, answer.Stdout)
		return refused
	}
	require.Empty(t, answer.Stderr)
	require.True(t, answer.Stdout == "" || json.Valid([]byte(answer.Stdout)), answer.Stdout)
	return refused
}

// reencoded writes a value as another encoder may: members in another order, letters as
// escapes, integers as fractions, and space between.
func reencoded(value any) string {
	switch value := value.(type) {
	case map[string]any:
		var members []string
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(value))) {
			members = append(members, reencoded(name)+"\t:\n"+reencoded(value[name]))
		}
		return "{ " + strings.Join(members, " ,\r\n") + " }"
	case []any:
		var list []string
		for _, each := range value {
			list = append(list, reencoded(each))
		}
		return "[ " + strings.Join(list, " , ") + " ]"
	case string:
		var out strings.Builder
		for _, r := range value {
			if r > 0xffff {
				out.WriteRune(r)
				continue
			}
			fmt.Fprintf(&out, `\u%04X`, r)
		}
		return `"` + out.String() + `"`
	case json.Number:
		if !strings.ContainsAny(value.String(), ".eE") {
			return value.String() + ".0"
		}
		return value.String()
	}
	text, _ := json.Marshal(value) // true, false and null
	return string(text)
}

func decoded(t *testing.T, text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	require.NoError(t, decoder.Decode(&value))
	return value
}

// others are arguments that differ from some in one place.
func others(t *testing.T, input json.RawMessage) []string {
	object, _ := decoded(t, input).(map[string]any)
	if object == nil {
		return nil
	}
	changed := func(name string, value any) string {
		made := maps.Clone(object)
		if made[name] = value; value == nil {
			delete(made, name)
		}
		text, err := json.Marshal(made)
		require.NoError(t, err)
		return string(text)
	}
	list := []string{changed("another", 1), changed("task_progres", "1/2")}
	for name, value := range object {
		list = append(list, changed(name, nil), changed(name, []any{value}))
		switch value := value.(type) {
		case string:
			list = append(list, changed(name, value+" "), changed(name, value+"\u200b"), changed(name, value+"\x00"), changed(name, strings.ToUpper(value)+"x"))
		case json.Number:
			list = append(list, changed(name, json.Number(value.String()+"0")), changed(name, value.String()), changed(name, json.Number("-"+value.String())))
		case bool:
			list = append(list, changed(name, !value), changed(name, fmt.Sprint(value)))
		}
	}
	return list
}

// TestRecordedCalls plays each announced call of each client, as it was and otherwise
// written, in a session whose run waits for that very call, and in one whose run waits
// for another.
func TestRecordedCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent, and the race detector slows it tenfold")
	}
	played := 0
	for _, name := range clients.Names() {
		client, err := clients.Find(name)
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, event := range recorded(t, name) {
			report, err := client.Read(event, "")
			require.NoError(t, err)
			_, _, ofThink := gate.Stepping(report.Tool)
			key := report.Tool + string(report.Input)
			if report.Kind != gate.BeforeTool || ofThink || seen[key] || strings.Contains(strings.ToLower(report.Tool), "search") {
				continue
			}
			seen[key] = true
			played++
			t.Run(name+" "+report.Tool, func(t *testing.T) {
				prefix := prefixOf(report.Tool)
				call := strings.TrimPrefix(report.Tool, prefix)
				waiting := project(t, "r1", call, report.Input)
				require.False(t, say(t, client, waiting, event), "no run is open in the session")
				if prefix == "" { // a tool of the client's own
					prefix = "mcp__savant__"
				}
				bind(t, waiting, "r1", prefix, report.Event)
				elsewhere := project(t, "r2", "other.tool", json.RawMessage(`{}`))
				bind(t, elsewhere, "r2", prefix, report.Event)

				same := map[string][]byte{"as it was": event, "another encoder": []byte(reencoded(decoded(t, event))),
					"a mark before it": append([]byte("\xef\xbb\xbf"), event...), "a line after it": append(slices.Clone(event), '\r', '\n')}
				for how, text := range same {
					require.False(t, say(t, client, waiting, text), "%s: %s", how, text)
					require.True(t, say(t, client, elsewhere, text), "%s: %s", how, text)
				}
				members, _ := decoded(t, event).(map[string]any)
				for member := range members { // whatever is missing, another call stays refused
					left := maps.Clone(members)
					delete(left, member)
					text, err := json.Marshal(left)
					require.NoError(t, err)
					again, err := client.Read(text, "")
					require.NoError(t, err)
					if again.Session != "" && again.Session != report.Session {
						continue // Kiro's session is the folder
					}
					require.True(t, say(t, client, elsewhere, text), "without %s", member)
				}
				for _, input := range others(t, report.Input) {
					text := bytes.Replace(event, report.Input, []byte(input), 1)
					if bytes.Equal(text, event) {
						continue // the client sends arguments as text
					}
					require.True(t, say(t, client, waiting, text), "%s", text)
				}
				require.False(t, say(t, client, waiting, event), "the issued call passes still")
			})
		}
	}
	require.Greater(t, played, 40)
}

// prefixOf is what a client puts before the names of a server's tools.
func prefixOf(tool string) string {
	for _, prefix := range []string{"mcp__plugin_savant_savant__", "mcp__savant__", "mcp_savant_", "savant__", "savant_", "MCP:", "@savant/"} {
		if strings.HasPrefix(tool, prefix) {
			return prefix
		}
	}
	return ""
}
