package app

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/logfile"
	"savant/internal/redact"
)

// plantedSecret must be nowhere in what is written.
const plantedSecret = "pl4nted-s3cret-value"

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

// Whatever is logged, savant.log has no character that controls a terminal, and says
// which it was.
func TestTheLogFileHasNoControlCharacters(t *testing.T) {
	const csi = "\u009b31m"
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer root.Close()
	file := &logFile{complain: t.Output(), file: logfile.New(root, logName, maxLog)}
	logger := slog.New(slog.NewJSONHandler(file, &slog.HandlerOptions{ReplaceAttr: cleaning(redact.New(), "")}))
	logger.With("with", csi).Error("message "+csi, "text", csi, "cause", errors.New(csi), "list", []string{csi}, "map", map[string]any{csi: csi, "cut": "\x9b31m"},
		"key"+csi, 1, slog.Group("group"+csi, "text", csi))
	require.NoError(t, file.Close())
	text, err := os.ReadFile(filepath.Join(root.Name(), logName))
	require.NoError(t, err)
	for _, r := range string(bytes.TrimSuffix(text, []byte("\n"))) {
		require.False(t, r < ' ' || r >= 0x7f && r < 0xa0, "%q in %q", r, text)
	}
	require.Contains(t, string(text), `"msg":"message \\u{9b}31m"`)
	require.Contains(t, string(text), `"list":["\u009b31m"]`)
	require.NotContains(t, string(text), "\x9b31m")
}
