package clients_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/gate"
	"savant/think/gate/clients"
)

// fuzz reads what a client might send: it never panics, and what it answers is JSON.
func fuzz(f *testing.F, name string) {
	client, err := clients.Find(name)
	require.NoError(f, err)
	for _, each := range samples(f, name) {
		f.Add([]byte(each.Stdin), "")
	}
	f.Add([]byte(`{"tool_input":"{","workspace_roots":[1]}`), "preToolUse")
	f.Fuzz(func(t *testing.T, text []byte, event string) {
		report, err := client.Read(text, event)
		if err != nil {
			return
		}
		require.Contains(t, []gate.Kind{gate.BeforeTool, gate.AfterTool, gate.TurnEnd, gate.TurnMayEnd, gate.Other}, report.Kind)
		if len(report.Input) > 0 {
			require.True(t, json.Valid(report.Input), "%s", report.Input)
		}
		gate.Places(report.Event)
		gate.ThinkTool(report.Tool)
		run := gate.Run{Workflow: "w", ID: "r", Status: "running", Issued: []gate.Issued{{Step: "a", Call: "git.status", Input: json.RawMessage(`{"repo":"."}`)}}}
		decided := gate.Decide([]gate.Run{run}, []string{"mcp__savant__"}, report.Event)
		if report.Kind == gate.BeforeTool && decided.Verdict == gate.Pass {
			_, _, think := gate.ThinkTool(report.Tool)
			searching := slices.Contains([]string{"ToolSearch", "tool_search", "tool_search_tool", "tool_search_tool_regex"}, report.Tool)
			require.True(t, think || searching || len(report.Tool) >= len("git_status"), "%q passed", report.Tool)
		}
		answer := client.Answer(report.Named, decided)
		require.True(t, answer.Stdout == "" || json.Valid([]byte(answer.Stdout)), answer.Stdout)
	})
}

func FuzzClaudeCode(f *testing.F) { fuzz(f, "claude-code") }
func FuzzCodex(f *testing.F)      { fuzz(f, "codex") }
func FuzzGeminiCLI(f *testing.F)  { fuzz(f, "gemini-cli") }
func FuzzQwenCode(f *testing.F)   { fuzz(f, "qwen-code") }
func FuzzOpencode(f *testing.F)   { fuzz(f, "opencode") }
func FuzzCline(f *testing.F)      { fuzz(f, "cline") }
func FuzzCursor(f *testing.F)     { fuzz(f, "cursor") }
func FuzzVSCode(f *testing.F)     { fuzz(f, "vscode") }
func FuzzCopilotCLI(f *testing.F) { fuzz(f, "copilot-cli") }
func FuzzWindsurf(f *testing.F)   { fuzz(f, "windsurf") }
func FuzzKiro(f *testing.F)       { fuzz(f, "kiro") }
