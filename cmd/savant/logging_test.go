package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/redact"
)

// Whatever is logged, as whatever it is, has no secret.
func TestALogHasNoSecrets(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: cleaning(redact.New(plantedSecret), "")}))
	logger.With("with", plantedSecret).Error("it failed with "+plantedSecret, "text", "a "+plantedSecret, "cause", errors.New(plantedSecret), "list", []string{plantedSecret, "b"},
		"map", map[string]any{"password": "x"}, "took", time.Second, "count", 3, slog.Group("group", "text", plantedSecret))
	require.NotContains(t, out.String(), plantedSecret)
	require.Contains(t, out.String(), `"level":"ERROR","msg":"it failed with [redacted]","with":"[redacted]","text":"a [redacted]","cause":"[redacted]",`+
		`"list":["[redacted]","b"],"map":{"password":"[redacted]"},"took":1000000000,"count":3,"group":{"text":"[redacted]"}}`)
}

// Libraries log by themselves, net/http what a server sent unasked: that goes
// the way of all logs, and stderr is what it was.
func TestALogOfLibrariesHasNoSecrets(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
		w.(http.Flusher).Flush()
		stream, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprint(stream, "unasked "+plantedSecret)
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
	kept, err := os.ReadFile(filepath.Join(folder, logName))
	require.NoError(t, err)
	require.NotContains(t, string(kept), plantedSecret)
}
