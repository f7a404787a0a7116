package program

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// twoTokens makes the tokens "one" and "two" for a folder.
func twoTokens(t *testing.T, folder, configuration string) map[string]string {
	t.Helper()
	tokens := map[string]string{}
	for _, name := range []string{"one", "two"} {
		command := exec.Command("savant", "token", "add", name, "--path", folder)
		command.Env = append(os.Environ(), configuration)
		out, err := command.Output()
		require.NoError(t, err)
		tokens[name] = strings.TrimSpace(string(out))
	}
	return tokens
}

// TestRulesOverHTTP: what one token's session called is no evidence for another's, and is
// still there after a restart.
func TestRulesOverHTTP(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder, configuration := t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "rules"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules", "think.yaml"), []byte(`
evidence: {listed: {last: think.workflows.list}}
rules:
  - {id: seen, before: think.validate, require: [{needs: listed}]}
  - {id: once, before: think.validate, once: true}
`), 0o600))
	tokens := twoTokens(t, folder, configuration)
	s := serveHTTP(t, folder, configuration)
	call := func(token, tool string, args map[string]any) string {
		_, body := s.callHTTP(t, tokens[token], tool, args)
		return body
	}
	valid := map[string]any{"workflow": "hello"}
	require.Contains(t, call("one", "think.validate", valid), `"missing":[{"tool":"think.workflows.list","input":{}}]`)
	require.NotContains(t, call("one", "think.workflows.list", map[string]any{}), "RULE_REFUSED")
	require.Contains(t, call("two", "think_validate", valid), "Rule seen")
	s.end(t)
	s = serveHTTP(t, folder, configuration)
	require.Contains(t, call("one", "think.validate", valid), `"valid":true`)
	require.Contains(t, call("one", "think.validate", valid), "Rule once")
	require.Contains(t, call("two", "think.validate", valid), "Rule seen")
}

// TestAServerKilledInACall: after a restart the call, whose effect is there and whose end nobody
// knows, counts as done for once and as not done for needs.
func TestAServerKilledInACall(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder, configuration := t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	places(t, folder, ".savant/ci.yaml", "commands:\n  pay: {command: [sh, -c, 'echo paid >>effect; exec sleep 5']}\n")
	places(t, folder, "rules/few.yaml", "evidence:\n  paid: {last: ci.run}\nrules:\n  - {id: once, before: ci.run, once: input.name}\n"+
		"  - {id: after, before: git.status, require: [{needs: paid}]}\n")
	token := ""
	for _, args := range [][]string{{"trust", "--yes"}, {"token", "add", "one", "--scope", "run"}} {
		command := exec.Command("savant", append(args, "--path", folder)...)
		command.Env = append(os.Environ(), configuration)
		out, err := command.Output()
		require.NoError(t, err)
		token = strings.TrimSpace(string(out))
	}
	s := serveHTTP(t, folder, configuration)
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ci.run","arguments":{"name":"pay"}}}`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address, body)
	require.NoError(t, err)
	request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + token}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if answer, err := http.DefaultClient.Do(request); err == nil {
			_ = answer.Body.Close()
		}
	}()
	effect := filepath.Join(folder, "effect")
	require.Eventually(t, func() bool { _, err := os.Stat(effect); return err == nil }, hang, 10*time.Millisecond)
	require.NoError(t, s.command.Process.Kill())
	<-ended
	s = serveHTTP(t, folder, configuration)
	for range 2 {
		_, said := s.callHTTP(t, token, "ci.run", map[string]any{"name": "pay"})
		require.Contains(t, said, "Rule once")
		_, said = s.callHTTP(t, token, "git.status", map[string]any{})
		require.Contains(t, said, "Rule after")
		require.Contains(t, said, "ci_run #1 has no known end")
	}
	made, err := os.ReadFile(effect)
	require.NoError(t, err)
	require.Equal(t, "paid\n", string(made))
}

// TestTheRulesOfAWorkflowHoldForItsSession, over stdio and over HTTP: for who planned the run,
// while it is open, by what this one saw.
func TestTheRulesOfAWorkflowHoldForItsSession(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder, configuration := t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	places(t, folder, "workflows/ruled.yaml", `name: ruled
version: "1"
rules:
  evidence: {listed: {last: think.workflows.list}}
  rules: [{id: seen, before: git.status, require: {needs: listed}}]
steps:
  - {id: work, call: llm.generate, input_template: {task: Work.}}
`)
	type caller func(tool string, args map[string]any) string
	holds := func(t *testing.T, run string, one, two caller) {
		none := map[string]any{}
		require.Contains(t, one("git.status", none), "branch")
		require.Contains(t, one("think.plan", map[string]any{"workflow": "ruled", "run_id": run}), "rules of ruled hold for your calls: seen (require a call of think_workflows_list) before git_status")
		require.Contains(t, one("git_status", none), "Rule seen (workflows/ruled.yaml:5)")
		require.Contains(t, two("git.status", none), "branch")
		ordered := map[string]any{"goal": "Look.", "force_tool": "git.status", "force_finish": true}
		require.Contains(t, one("agent.run", ordered), "Rule seen", "the agent is no way around")
		require.NotContains(t, two("agent.run", ordered), "Rule seen")
		require.NotContains(t, two("think.workflows.list", none), "RULE_REFUSED")
		require.Contains(t, one("git.status", none), "Rule seen", "what another one saw is no evidence")
		require.NotContains(t, one("think.workflows.list", none), "RULE_REFUSED")
		require.Contains(t, one("git.status", none), "branch")
	}
	t.Run("HTTP", func(t *testing.T) {
		tokens := []string{}
		for _, name := range []string{"one", "two"} {
			command := exec.Command("savant", "token", "add", name, "--scope", "run", "--path", folder)
			command.Env = append(os.Environ(), configuration)
			out, err := command.Output()
			require.NoError(t, err)
			tokens = append(tokens, strings.TrimSpace(string(out)))
		}
		s := serveHTTP(t, folder, configuration)
		of := func(token string) caller {
			return func(tool string, args map[string]any) string {
				_, body := s.callHTTP(t, token, tool, args)
				return body
			}
		}
		holds(t, "h1", of(tokens[0]), of(tokens[1]))
	})
	t.Run("stdio", func(t *testing.T) {
		of := func(s *server) caller {
			return func(tool string, args map[string]any) string {
				text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args,
					"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}}})
				require.NoError(t, err)
				_, err = fmt.Fprintf(s.stdin, "%s\n", text)
				require.NoError(t, err)
				for s.lines.Scan() {
					if strings.Contains(s.lines.Text(), `"id":"`+tool+`"`) {
						return s.lines.Text()
					}
				}
				require.Fail(t, "the server has ended")
				return ""
			}
		}
		holds(t, "s1", of(serveIn(t, folder)), of(serveIn(t, folder)))
	})
}

// TestASessionHeaderIsOfItsToken: a token that sends another one's session header does not
// see that one's calls, and two sessions of a token do not see each other's.
func TestASessionHeaderIsOfItsToken(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder, configuration := t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "rules"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules", "think.yaml"), []byte("evidence: {listed: {last: think.workflows.list}}\nrules: [{id: seen, before: think.validate, require: {needs: listed}}]\n"), 0o600))
	tokens := twoTokens(t, folder, configuration)
	s := serveHTTP(t, folder, configuration)
	send := func(token, session, message string) (string, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address, strings.NewReader(message))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("Authorization", "Bearer "+tokens[token])
		if session != "" {
			request.Header.Set("Mcp-Session-Id", session)
			request.Header.Set("Mcp-Protocol-Version", "2025-06-18")
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.Header.Get("Mcp-Session-Id"), string(text)
	}
	begin := func(token string) string {
		session, body := send(token, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a client","version":"1"}}}`)
		require.NotEmpty(t, session, body)
		return session
	}
	call := func(token, session, tool, args string) string {
		_, body := send(token, session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+args+`}}`)
		return body
	}
	first, second := begin("one"), begin("one")
	require.NotContains(t, call("one", first, "think.workflows.list", "{}"), "RULE_REFUSED")
	valid := `{"workflow":"hello"}`
	require.Contains(t, call("one", second, "think.validate", valid), "Rule seen")
	require.Contains(t, call("two", first, "think.validate", valid), "Rule seen")
	require.Contains(t, call("one", "", "think.validate", valid), "Rule seen")
	require.NotContains(t, call("one", first, "think.validate", valid), "Rule seen")
}

// ruledWorkflow has rules about the calls of its run.
const ruledWorkflow = `name: look
version: "1.0"
params: {most: {type: integer, default: 50}}
rules:
  evidence: {listed: {last: think.workflows.list}}
  rules:
    - {id: seen, before: think.validate, require: {needs: listed}}
    - {id: few, before: think.state.list, require: "(input?.limit ?? 0) <= params.most"}
    - {id: chosen, before: think.state.list, require: "state.chosen != nil"}
steps:
  - {id: choose, call: llm.generate, input_template: {task: Choose.}, capture_as: chosen}
  - {id: end, call: llm.generate, input_template: {task: End.}}
`

// TestTheRulesOfAWorkflowHoldForItsRun, over stdio and HTTP alike, while it is open; another
// token is not held.
func TestTheRulesOfAWorkflowHoldForItsRun(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder, configuration := t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "look.yaml"), []byte(ruledWorkflow), 0o600))
	tokens := twoTokens(t, folder, configuration)
	overHTTP := serveHTTP(t, folder, configuration)
	overStdio := serveIn(t, folder, configuration)
	id := 0
	for way, call := range map[string]func(tool string, args map[string]any) string{
		"http": func(tool string, args map[string]any) string {
			_, body := overHTTP.callHTTP(t, tokens["one"], tool, args)
			return body
		},
		"stdio": func(tool string, args map[string]any) string {
			id++
			overStdio.send(t, id, tool, args)
			require.True(t, overStdio.lines.Scan())
			return overStdio.lines.Text()
		},
	} {
		valid := map[string]any{"workflow": "hello"}
		require.Contains(t, call("think.validate", valid), `"valid":true`, way)
		require.Contains(t, call("think.plan", map[string]any{"workflow": "look", "run_id": way}), "rules of look hold for your calls: seen (require a call of think", way)
		require.Contains(t, call("think.validate", valid), "Rule seen (workflows/look.yaml:7) is not met", way)
		require.Contains(t, call("think.workflows.list", nil), `"hello"`)
		require.Contains(t, call("think.validate", valid), `"valid":true`, way)
		require.Contains(t, call("think.state.list", map[string]any{"limit": 60}), "Rule few")
		require.Contains(t, call("think.state.list", map[string]any{"limit": 6}), "Rule chosen")
		require.Contains(t, call("think.next", map[string]any{"run_id": way, "step_id": "choose", "result_snapshot": "a"}), `"step_id":"end"`)
		require.Contains(t, call("think.state.list", map[string]any{"limit": 6}), `"look"`)
		if way == "http" {
			_, body := overHTTP.callHTTP(t, tokens["two"], "think.state.list", map[string]any{"limit": 60})
			require.NotContains(t, body, "RULE_REFUSED")
		}
		require.Contains(t, call("think.next", map[string]any{"run_id": way, "step_id": "end", "result_snapshot": "b"}), `"done":true`)
		require.Contains(t, call("think.state.list", map[string]any{"limit": 60}), `"look"`)
		out, err := exec.Command("savant", "verify", way, "--path", folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "6 decisions, 3 refused, identical")
	}
}
