package program

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/webguard"
	"savant/test/mongotest"
)

// folderWith is a folder with a file of settings, and a token that is bound to it.
func folderWith(t *testing.T, name, configuration, settings string) (folder, token string) {
	folder = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "config"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "config", "settings.json"), []byte(settings), 0o600))
	for _, args := range [][]string{{"trust", "--yes", "--path", folder}, {"token", "add", name, "--folder", folder, "--path", t.TempDir()}} {
		command := exec.Command("savant", args...)
		command.Env = append(os.Environ(), configuration)
		out, err := command.Output()
		require.NoError(t, err, args)
		token = strings.TrimSpace(string(out))
	}
	return folder, token
}

// TestFoldersShareNoDatabase: the bearers of two tokens whose folders name the same
// database do not meet there.
func TestFoldersShareNoDatabase(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	configuration := "XDG_CONFIG_HOME=" + t.TempDir()
	uri := mongotest.Start(t).URI(mongotest.NewDatabase())
	plan := func(run string) map[string]any {
		return map[string]any{"workflow": "hello", "params": map[string]any{"name": "Ada"}, "run_id": run}
	}
	for name, settings := range map[string]string{"environment": `{"env": "test"}`, "database": `{"store": "mongo", "env": "test", "mongo": {"uri": "` + uri + `"}}`, "folder": `{"store": "file"}`} {
		one, tokenOne := folderWith(t, name+" one", configuration, settings)
		_, tokenTwo := folderWith(t, name+" two", configuration, settings)
		shared := serveHTTP(t, t.TempDir(), configuration, "SAVANT_STORE=mongo", "MONGO_URI="+uri)
		for _, token := range []string{tokenOne, tokenTwo} {
			status, body := shared.callHTTP(t, token, "think.plan", plan("secret"))
			require.Equal(t, http.StatusServiceUnavailable, status, "%s: %s", name, body)
		}
		own := serveHTTP(t, t.TempDir(), configuration) // the twin: each folder keeps its own runs
		status, body := own.callHTTP(t, tokenOne, "think.plan", plan("secret"))
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, "Greet Ada")
		require.FileExists(t, filepath.Join(one, ".savant", "state", "hello", "secret.journal"), name)
		_, body = own.callHTTP(t, tokenTwo, "think.state.list", map[string]any{})
		require.NotContains(t, body, "secret", name)
	}
}

// TestAFolderOfATokenHoldsNothingOfOthers: what holds for all folders (answers of trust, tokens,
// indexes) is in the folder of no token, whose bearer could change it.
func TestAFolderOfATokenHoldsNothingOfOthers(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := t.TempDir()
	linked := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(folder, linked))
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	write := func(path string) string {
		text, err := json.Marshal(map[string]any{"tokens": []webguard.Token{{Name: "a", Digest: webguard.Digest("secret"), Scopes: []string{"guide"}, Path: folder}}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	outside := []string{"XDG_CONFIG_HOME=" + t.TempDir(), "SAVANT_HTTP_TOKENS=" + write(tokens)}
	for name, inside := range map[string]string{"configuration": "XDG_CONFIG_HOME=" + filepath.Join(folder, "conf"), "by a link": "XDG_CONFIG_HOME=" + filepath.Join(linked, "conf"),
		"tokens": "SAVANT_HTTP_TOKENS=" + write(filepath.Join(folder, "tokens.json")), "indexes": "XDG_CACHE_HOME=" + filepath.Join(folder, "cache"), "nothing": "LOG_LEVEL=info"} {
		served := serveHTTP(t, t.TempDir(), append(slices.Clone(outside), inside)...)
		status, body := served.callHTTP(t, "secret", "think.plan", map[string]any{"workflow": "hello", "params": map[string]any{"name": "Ada"}, "run_id": "r-" + strings.Fields(name)[0]})
		if name == "nothing" { // the twin
			require.Equal(t, http.StatusOK, status, body)
			continue
		}
		require.Equal(t, http.StatusServiceUnavailable, status, "%s: %s", name, body)
		require.NotContains(t, body, folder)
	}
}
