package sessions_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/gate"
)

// TestNoSpellingIsAWayAround: of arguments and of the tool's name. What a tool gets is what the
// rules judged, so that no second call for the same order passes.
func TestNoSpellingIsAWayAround(t *testing.T) {
	for _, tool := range []string{"pay.refund", "pay_refund", "pay-refund", "Pay.Refund", "mcp__savant__pay_refund", " pay.refund"} {
		for _, args := range []string{
			`{"order":"A","amount":1}`, `{"amount":1,"order":"A"}`, `{"order":"\u0041","amount":1.0}`, `{"order":"A","amount":1e0}`,
			`{"order":"A","amount":"1"}`, `{"Order":"A","amount":1}`, `{"ORDER":"A","AMOUNT":1}`, `{"order":"B","order":"A","amount":1}`,
			`{"order":"B","Order":"A","amount":1}`, `{"Order":"A","order":"B","amount":1}`, `"{\"order\":\"A\",\"amount\":1}"`, `{"order":"A","amount":1,"note":"x"}`,
			`{"order":["A"],"amount":1}`, `{"order":{"value":"A"},"amount":1}`, `{"args":{"order":"A","amount":1}}`, `{"order":"A"}`, `{"order":"A","amount":null}`,
		} {
			w := newWorld(t, `rules: [{id: once, before: pay.refund, once: input.order}]`)
			registry := w.start()
			require.NoError(t, invoke(registry, lasting, "pay.refund", `{"order":"A","amount":1}`))
			result, err := registry.Invoke(t.Context(), lasting, tool, json.RawMessage(args))
			if err == nil {
				require.NotContains(t, string(result.JSON), `"order":"A"`, "%s %s", tool, args)
			}
		}
	}
}

// TestNoNameOfAClientIsAWayAround: a pattern is about a server's tools however a client writes
// them, and also where it does not say its session.
func TestNoNameOfAClientIsAWayAround(t *testing.T) {
	w := newWorld(t, `rules: [{id: one, before: "git-hub.delete-*", deny: true}, {id: any, before: "*.drop_*", deny: true}, {id: shell, before: Bash, deny: true}]`)
	for tool, refused := range map[string]bool{
		"mcp__git-hub__delete-issue": true, "mcp_git-hub_delete-issue": true, "git-hub_delete-issue": true, "git-hub__delete-issue": true, "@git-hub/delete-issue": true,
		"mcp__plugin_market_git-hub__delete-issue": true, "git_hub_delete_issue": true, "MCP:delete-issue": true,
		"mcp__db__drop_table": true, "mcp_db_drop_table": true, "db_drop_table": true, "@db/drop_table": true, "MCP:drop_table": true, "Bash": true,
		"mcp__git-hub__list-issues": false, "git_hub_list_issues": false, "drop_table": false, "MCP:table": false, "Read": false,
	} {
		for _, session := range []string{"s", ""} {
			event := gate.Event{Client: "claude-code", Session: session, Kind: gate.BeforeTool, Tool: tool, Input: json.RawMessage(`{}`)}
			require.Equal(t, refused, w.openHooks().Ask(t.Context(), event).Verdict == gate.Refuse, "%s %q", tool, session)
		}
	}
}

// TestAFileOfRulesIsNotOverlooked: whatever was made of it while the server runs.
func TestAFileOfRulesIsNotOverlooked(t *testing.T) {
	for name, change := range map[string]func(folder string) error{
		"its ending": func(folder string) error { return os.Rename(folder+"/r.yaml", folder+"/R.YAML") },
		"a link to nowhere": func(folder string) error {
			return errors.Join(os.Rename(folder, folder+".away"), os.Symlink("nowhere", folder))
		},
		"a file": func(folder string) error {
			return errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600))
		},
		"empty": func(folder string) error { return os.WriteFile(folder+"/r.yaml", nil, 0o600) },
	} {
		w := newWorld(t, `rules: [{id: never, before: pay.refund, deny: true}]`)
		registry := w.start()
		require.ErrorIs(t, invoke(registry, lasting, "pay.refund", `{}`), fault.RuleRefused)
		require.NoError(t, change(filepath.Join(w.folder, "rules")))
		require.ErrorIs(t, invoke(registry, lasting, "pay.refund", `{}`), fault.RuleRefused, name)
		require.ErrorIs(t, invoke(w.start(), lasting, "pay.refund", `{}`), fault.RuleRefused, name)
	}
}

// TestTheSignOfAZeroIsNoWayAround: not in a list or a map either, nor where a rule compares the
// text of all arguments.
func TestTheSignOfAZeroIsNoWayAround(t *testing.T) {
	w := newWorld(t, `rules: [{id: all, before: [Bash, pay.slow], once: "toJSON(input)"}, {id: one, before: Edit, once: input.at}]`)
	hooks := w.openHooks()
	ask := func(tool, input string) gate.Verdict {
		return hooks.Ask(t.Context(), gate.Event{Kind: gate.BeforeTool, Client: "codex", Session: "s", Tool: tool, Input: json.RawMessage(input)}).Verdict
	}
	for _, zero := range []string{"0", "-0", "-0.0", "-0e3"} {
		first := zero == "0"
		for tool, input := range map[string]string{"Bash": `{"n":[{"m":` + zero + `}]}`, "Edit": `{"at":{"line":` + zero + `}}`} {
			require.Equal(t, first, ask(tool, input) == gate.Pass, "%s %s", tool, input)
		}
	}
	older, err := os.ReadFile(w.journal())
	require.NoError(t, err)
	older = []byte(strings.ReplaceAll(strings.ReplaceAll(string(older), `{"m":0}`, `{"m":-0}`), `"at":{"line":0}`, `"at":{"line":-0}`))
	require.NoError(t, os.WriteFile(w.journal(), older, 0o600))
	hooks = w.openHooks()
	require.Equal(t, gate.Refuse, ask("Edit", `{"at":{"line":0}}`))
	require.Equal(t, gate.Refuse, ask("Bash", `{"n":[{"m":0}]}`))
	registry := w.start()
	require.NoError(t, invoke(registry, lasting, "pay.slow", `{"amount":0}`))
	require.ErrorIs(t, invoke(registry, lasting, "pay.slow", `{"amount":-0}`), fault.RuleRefused)
}

// TestArgumentsThatCannotBeReadAreNoWayAround: a rule that allows for a missing argument would let
// a call pass whose arguments are taken for none.
func TestArgumentsThatCannotBeReadAreNoWayAround(t *testing.T) {
	w := newWorld(t, `rules: [{id: push, before: Bash, when: "string(input?.command ?? '') matches 'push'", deny: true}]`)
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for input, refused := range map[string]bool{
		"": false, "null": false, "{}": false, `{"command":"ls"}`: false, `{"command":"git push"}`: true, `{"command":"ls","command":"git push"}`: true,
		`"git push"`: true, `["git push"]`: true, "5": true, `{"command":"git push","n":1e400}`: true, `{"command":"git push","n":` + deep + `}`: true, `{"command":`: true,
	} {
		event := gate.Event{Client: "copilot-cli", Session: "s", Kind: gate.BeforeTool, Tool: "Bash", Input: json.RawMessage(input)}
		require.Equal(t, refused, w.openHooks().Ask(t.Context(), event).Verdict == gate.Refuse, input)
	}
}

// TestAHookFindsACallWhateverItsArgumentsAre: the records that it reads are found by their text.
func TestAHookFindsACallWhateverItsArgumentsAre(t *testing.T) {
	w := newWorld(t, "rules:", "  - {id: once, before: Bash, once: input.command, scope: project}",
		`  - {id: none, before: Edit, require: "none(calls['Edit'], .input.command == input.command)"}`)
	for _, command := range []string{`"a"`, `"<&>"`, `"\u2028"`, `"\u0008\u000c\u0000\u007f"`, `"\ud83d\ude00é"`, "\"\xff\"", `"\\\"\/"`, `17`, `1.5e300`, `1e21`, `0.1`, `12345678901234567890`,
		`-1`, `true`, `""`, `[1,"a"]`, `{"b":1,"a":{"<":"\u2029"}}`, `[]`, `0`, `-0.0`} {
		for _, other := range []string{"", `,"note":"\u2028"`, ",\"a\":\"\xff\""} {
			input := `{"command":` + command + other + `}`
			ask := func(session, tool string) gate.Verdict {
				return w.openHooks().Ask(t.Context(), gate.Event{Client: "codex", Session: session, Kind: gate.BeforeTool, Tool: tool, Input: json.RawMessage(input)}).Verdict
			}
			first := other == "" && command != "-0.0"
			require.Equal(t, first, ask("a", "Bash") == gate.Pass, input)
			require.Equal(t, gate.Refuse, ask("b", "Bash"), input)
			if first {
				require.Equal(t, gate.Pass, ask("a", "Edit"), input)
			}
			require.Equal(t, gate.Refuse, ask("a", "Edit"), input)
		}
	}
}

// TestAHookCountsAnEarlierCallAsItWasJudged: whether it used up a limit depended on calls with its
// own arguments.
func TestAHookCountsAnEarlierCallAsItWasJudged(t *testing.T) {
	for _, rule := range []string{
		`{id: few, before: Bash, at_most: 1, when: "any(calls['Read'], .input.k == input.k)"}`,
		`{id: few, before: Bash, at_most: 1, when: "read != nil"}`,
		`{id: few, before: Bash, once: "read.input.all"}`,
	} {
		w := newWorld(t, "evidence: {read: {last: Read, where: {k: input.k}}}", "rules:", "  - "+rule)
		call := func(tool, input string) gate.Verdict {
			event := gate.Event{Client: "codex", Session: "s", Kind: gate.BeforeTool, Tool: tool, Input: json.RawMessage(input)}
			verdict := w.openHooks().Ask(t.Context(), event).Verdict
			if event.Kind, event.Output = gate.AfterTool, json.RawMessage(`"read"`); verdict == gate.Pass {
				w.openHooks().Ask(t.Context(), event)
			}
			return verdict
		}
		for _, k := range []string{"1", "2"} {
			require.Equal(t, gate.Pass, call("Read", `{"":`+k+`,"k":`+k+`,"all":"a"}`))
		}
		require.Equal(t, gate.Pass, call("Bash", `{"k":1}`), rule)
		require.Equal(t, gate.Refuse, call("Bash", `{"k":2}`), rule)
	}
}

// TestAKeyWithoutAName is looked up as any other.
func TestAKeyWithoutAName(t *testing.T) {
	w := newWorld(t, `rules: [{id: once, before: Bash, require: "none(calls['Bash'], .input[''] == input.k)"}]`)
	ask := func(input string) gate.Verdict {
		return w.openHooks().Ask(t.Context(), gate.Event{Client: "codex", Session: "s", Kind: gate.BeforeTool, Tool: "Bash", Input: json.RawMessage(input)}).Verdict
	}
	require.Equal(t, gate.Pass, ask(`{"":5,"k":6}`))
	require.Equal(t, gate.Refuse, ask(`{"k":5}`))
}

// TestAServerSeesWhatOthersWroteSinceItsFirstLook, at which it wrote nothing itself.
func TestAServerSeesWhatOthersWroteSinceItsFirstLook(t *testing.T) {
	w := newWorld(t, `rules: [{id: big, before: pay.refund, approve: "Refund?"}]`)
	require.ErrorIs(t, invoke(w.start(), lasting, "pay.refund", `{}`), fault.ApprovalRequired)
	restarted := w.start()
	require.ErrorIs(t, invoke(restarted, lasting, "pay.refund", `{}`), fault.ApprovalRequired)
	person := w.openHooks()
	waiting, err := person.Questions()
	require.NoError(t, err)
	_, err = person.Answer(t.Context(), waiting[0].Name, true, "terminal")
	require.NoError(t, err)
	require.NoError(t, invoke(restarted, lasting, "pay.refund", `{}`))
}

// TestADamagedRecordMayBeAnyCall: a hook leaves out only what it knows to be another one.
func TestADamagedRecordMayBeAnyCall(t *testing.T) {
	for _, damage := range []string{"\x00\x00\x00\x00\x00\x00", "\n"} {
		w := newWorld(t, "rules: [{id: once, before: Bash, once: input.k}]")
		ask := func(k string) gate.Verdict {
			return w.openHooks().Ask(t.Context(), gate.Event{Client: "codex", Session: "s", Kind: gate.BeforeTool, Tool: "Bash", Input: json.RawMessage(`{"k":"` + k + `"}`)}).Verdict
		}
		require.Equal(t, gate.Pass, ask("first"))
		require.Equal(t, gate.Pass, ask("second"))
		text, err := os.ReadFile(w.journal())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(w.journal(), []byte(strings.Replace(string(text), `"first"`, damage, 1)), 0o600))
		require.Equal(t, gate.Refuse, ask("first"), "%q", damage)
	}
}
