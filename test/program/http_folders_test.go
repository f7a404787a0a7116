package program

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
