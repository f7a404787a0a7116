package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
	tokens := map[string]string{}
	for _, name := range []string{"one", "two"} {
		command := exec.Command("savant", "token", "add", name, "--path", folder)
		command.Env = append(os.Environ(), configuration)
		out, err := command.Output()
		require.NoError(t, err)
		tokens[name] = strings.TrimSpace(string(out))
	}
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
