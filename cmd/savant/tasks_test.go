package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestATaskCanceledAfterItsEffect has a command write a file and go on; the client cancels
// it. The call counts as done for a rule that allows it once, and as not done for one that
// requires it.
func TestATaskCanceledAfterItsEffect(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	places(t, folder, ".savant/ci.yaml", "commands:\n  pay: {command: [sh, -c, 'echo paid >>effect; sleep 60']}\n")
	places(t, folder, "rules/few.yaml", "evidence:\n  paid: {last: ci.run}\nrules:\n  - {id: once, before: ci.run, once: input.name}\n"+
		"  - {id: after, before: git.status, require: [{needs: paid}]}\n")
	trusts(t, folder)
	s := serveIn(t, folder)
	number := 0
	ask := func(method string, params map[string]any) map[string]any {
		number++
		params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}}
		text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": number, "method": method, "params": params})
		require.NoError(t, err)
		_, err = fmt.Fprintf(s.stdin, "%s\n", text)
		require.NoError(t, err)
		for s.lines.Scan() {
			var got struct {
				ID     int            `json:"id"`
				Result map[string]any `json:"result"`
			}
			if json.Unmarshal(s.lines.Bytes(), &got) == nil && got.ID == number {
				return got.Result
			}
		}
		require.Fail(t, "the server has ended")
		return nil
	}
	call := func(tool string, args map[string]any) map[string]any {
		return ask("tools/call", map[string]any{"name": tool, "arguments": args})
	}
	made := call("ci_run", map[string]any{"name": "pay"})
	require.Equal(t, "task", made["resultType"], made)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(folder, "effect")); return err == nil }, hang, 10*time.Millisecond)
	ask("tasks/cancel", map[string]any{"taskId": made["taskId"]})
	require.Eventually(t, func() bool {
		return ask("tasks/get", map[string]any{"taskId": made["taskId"]})["status"] == "cancelled"
	}, hang, 10*time.Millisecond)
	for tool, rule := range map[string]string{"ci_run": "Rule once", "git_status": "Rule after"} {
		said := fmt.Sprint(call(tool, map[string]map[string]any{"ci_run": {"name": "pay"}, "git_status": {}}[tool]))
		require.Contains(t, said, "RULE_REFUSED", tool)
		require.Contains(t, said, rule)
	}
	paid, err := os.ReadFile(filepath.Join(folder, "effect"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(paid), "paid"))
}
