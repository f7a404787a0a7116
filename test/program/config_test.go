package program

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/settings"
)

// planted is looked for in all that the program writes.
const planted = "sekrit+0123456789/x"

// echoing is a Reasoning API that repeats the token it is given, refusing every
// request for a goal that asks it to.
func echoing(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		token := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
		if token != planted {
			http.Error(answer, "no token", http.StatusUnauthorized)
			return
		}
		asked := new(bytes.Buffer)
		_, _ = asked.ReadFrom(request.Body)
		if strings.Contains(asked.String(), `"refuse"`) || strings.Contains(asked.String(), `Goal\nrefuse`) {
			http.Error(answer, "the key "+token+" is bad", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(answer, `{"action":"finish","final":"done with %[1]s","reasoning":"I was given %[1]s","model":"echo"}`, token)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestAPlantedSecretIsNowhere gives a secret in each of the ways there are, and
// looks for it in all that is printed and written.
func TestAPlantedSecretIsNowhere(t *testing.T) {
	skipInShort(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, source := range []settings.Source{settings.FromFile, settings.FromEnvironment, settings.FromFlag} {
		t.Run(string(source), func(t *testing.T) { lookForSecret(t, source, echoing(t)) })
	}
}

func lookForSecret(t *testing.T, source settings.Source, address string) {
	folder := t.TempDir()
	environment := []string{"SAVANT_PATH=" + folder, "REASONING_API_URL=" + address, "LOG_LEVEL=debug", "REASONING_API_RETRIES=0"}
	var flags []string
	switch source {
	case settings.FromFile:
		require.NoError(t, os.Mkdir(filepath.Join(folder, "config"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, settings.FileName),
			fmt.Appendf(nil, `{"reasoning": {"api_token": %[1]q}, "llm": {"openai_key": %[1]q, "anthropic_key": %[1]q}}`, planted), 0o644))
		environment = append(environment, "XDG_CONFIG_HOME="+t.TempDir())
		var said bytes.Buffer
		require.Equal(t, exitOK, run(t.Context(), []string{"trust", "--yes"}, environment, strings.NewReader(""), &said, &said), said.String())
		require.NotContains(t, said.String(), planted)
	case settings.FromEnvironment:
		environment = append(environment, "REASONING_API_TOKEN="+planted, "OPENAI_API_KEY="+planted)
	case settings.FromFlag:
		flags = []string{"--set", "reasoning.api_token=" + planted, "--set=llm.openai_key=" + planted}
	}
	for _, each := range []struct {
		code  int
		stdin string
		args  []string
	}{
		{exitOK, "", []string{"config", "show", "--origin"}},
		{exitOK, "", []string{"config", "show", "--json"}},
		{exitOK, "", []string{"tools"}},
		{exitOK, "", []string{"engines", "status"}},
		{exitOK, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"mcp"}},
		{exitOK, "", []string{"run", "--skip-git", "say done"}},
		{exitOK, "", []string{"run", "--skip-git", "--output", "stream-json", "say done"}},
		{exitConfiguration, "", []string{"run", "--skip-git", "refuse"}},
		{exitConfiguration, "", []string{"run", "--skip-git", "--output", "json", "refuse"}},
		{exitOK, "", []string{"runs", "list"}},
		{exitConfiguration, `{"session_id":"s","run_id":"r","step":1,"goal":"refuse"}`, []string{"reasoning", "decide"}},
		{exitConfiguration, `{"session_id":"s","run_id":"r","step":1,"goal":"refuse"}`, []string{"reasoning", "decide", "--json"}},
		{exitOK, `{"session_id":"s","run_id":"r","step":1,"goal":"say done"}`, []string{"reasoning", "decide"}},
		{exitConfiguration, "", []string{"config", "show", "--log-level", "loud"}},
		{exitConfiguration, "", []string{"run", "--skip-git", "refuse", "--reasoning-api-url=", "--set=llm.openai_url=" + address, "--slm=openai:m"}},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append(each.args, flags...), environment, strings.NewReader(each.stdin), &stdout, &stderr)
		require.Equal(t, each.code, code, "%v\n%s\n%s", each.args, stdout.String(), stderr.String())
		require.NotContains(t, stdout.String(), planted, "stdout of %v", each.args)
		require.NotContains(t, stderr.String(), planted, "stderr of %v", each.args)
	}
	written := 0
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == settings.FileName {
			return err
		}
		written++
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NotContains(t, string(text), planted, name)
		return err
	}))
	require.Greater(t, written, 3, "the agent and the log have written")
}
