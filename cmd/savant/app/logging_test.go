package app

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
