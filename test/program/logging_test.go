package program

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Libraries log by themselves, net/http what a server sent unasked: that goes
// the way of all logs, and stderr is what it was.
func TestALogOfLibrariesHasNoSecrets(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	logged := make(chan struct{}) // closed once the client has closed the connection, which it does after it has logged
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked.Swap(true) {
			<-logged
			w.WriteHeader(http.StatusNoContent)
			return
		}
		defer close(logged)
		w.WriteHeader(http.StatusServiceUnavailable)
		w.(http.Flusher).Flush()
		stream, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprint(stream, "0\r\n\r\nunasked "+plantedSecret) // the end of the answer, and more
			_, _ = io.Copy(io.Discard, stream)
			_ = stream.Close()
		}
	}))
	defer api.Close()
	folder := t.TempDir()
	command := exec.Command("savant", "run", "--skip-git", "what")
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "HOME="+folder, "XDG_CACHE_HOME="+folder, "LOG_LEVEL=debug",
		"REASONING_API_URL="+api.URL, "MY_API_TOKEN="+plantedSecret)
	said, err := command.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "INVALID_INTENT")
	require.NotContains(t, string(said), plantedSecret)
	kept, err := os.ReadFile(filepath.Join(folder, "logs/savant.log"))
	require.NoError(t, err)
	require.Contains(t, string(kept), "Unsolicited response")
	require.NotContains(t, string(kept), plantedSecret)
}
