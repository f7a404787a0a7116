package maintenance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think"
	"savant/think/state"
)

// TestAnExportSaysWhatCannotBeImported: export and import agree about each run, also near
// the bounds.
func TestAnExportSaysWhatCannotBeImported(t *testing.T) {
	text := func(size int) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`"%d%s"`, size, strings.Repeat("x", size)))
	}
	for name, c := range map[string]struct {
		results [2]json.RawMessage
		says    string
	}{
		"small":       {[2]json.RawMessage{text(10), text(10)}, ""},
		"just within": {[2]json.RawMessage{text(3_100_000), text(3_100_001)}, ""},
		"just above":  {[2]json.RawMessage{text(3_200_000), text(3_200_001)}, "bytes in 3 records, and an import takes 12582912 bytes in 30000 records"},
		"one large":   {[2]json.RawMessage{text(9_000_000), text(1)}, "and an import takes 12582912 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			engine, keeper := exporter(t)
			_, err := engine.Plan(ctx, think.PlanInput{Workflow: "w", RunID: "r"})
			require.NoError(t, err)
			for i, step := range []string{"a", "b"} {
				_, err = engine.Next(ctx, think.NextInput{RunID: "r", StepID: step, ResultSnapshot: c.results[i]})
				require.NoError(t, err)
			}
			var file bytes.Buffer
			done, err := keeper.Export(ctx, state.Key{Workflow: "w", Run: "r"}, &file)
			require.NoError(t, err)
			_, other := exporter(t)
			_, err = other.Import(ctx, &file)
			if c.says == "" {
				require.Empty(t, done.Warning)
				require.NoError(t, err)
				return
			}
			require.Contains(t, done.Warning, c.says)
			require.ErrorIs(t, err, fault.LimitExceeded)
		})
	}
}
