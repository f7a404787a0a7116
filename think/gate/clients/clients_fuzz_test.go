package clients_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/gate"
	"savant/think/gate/clients"
)

// FuzzClients reads what a client might send: it never panics, and what it answers is
// JSON. which is the client's place among the names.
func FuzzClients(f *testing.F) {
	names := clients.Names()
	for which, name := range names {
		for _, each := range samples(f, name) {
			f.Add(uint8(which), []byte(each.Stdin), "")
		}
		f.Add(uint8(which), []byte(`{"tool_input":"{","workspace_roots":[1]}`), "preToolUse")
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte, event string) {
		client, err := clients.Find(names[int(which)%len(names)])
		require.NoError(t, err)
		report, err := client.Read(text, event)
		if err != nil {
			return
		}
		require.Contains(t, []gate.Kind{gate.BeforeTool, gate.AfterTool, gate.TurnEnd, gate.TurnMayEnd, gate.Other}, report.Kind)
		if len(report.Input) > 0 {
			require.True(t, json.Valid(report.Input), "%s", report.Input)
		}
		gate.Places(report.Event)
		gate.Stepping(report.Tool)
		run := gate.Run{Workflow: "w", ID: "r", Status: "running", Issued: []gate.Issued{{Step: "a", Call: "git.status", Input: json.RawMessage(`{"repo":"."}`)}}}
		decided := gate.Decide([]gate.Run{run}, gate.Own{Prefixes: []string{"mcp__savant__"}}, report.Event)
		if report.Kind == gate.BeforeTool && decided.Verdict == gate.Pass {
			_, _, think := gate.Stepping(report.Tool)
			searching := slices.Contains([]string{"ToolSearch", "tool_search", "tool_search_tool", "tool_search_tool_regex"}, report.Tool)
			require.True(t, think || searching || len(report.Tool) >= len("git_status"), "%q passed", report.Tool)
		}
		answer := client.Answer(report.Named, decided)
		require.True(t, answer.Stdout == "" || json.Valid([]byte(answer.Stdout)), answer.Stdout)
	})
}
