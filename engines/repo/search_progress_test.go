package repo

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/repo/index"
)

// TestAPersonHearsOfLongBuilds checks the log: nothing for short builds; for others a
// line every two seconds and one at the end.
func TestAPersonHearsOfLongBuilds(t *testing.T) {
	for batches, expected := range map[int][]string{
		3:  nil, // 300 ms each
		15: {"files=4 of=15", "files=11 of=15", "updated=15"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			b := &building{logger: slog.New(slog.NewTextHandler(&out, nil)), repo: "library"}
			report := b.progress(context.Background())
			for done := range batches {
				time.Sleep(300 * time.Millisecond)
				report(done+1, batches)
			}
			b.finished(context.Background(), index.Changes{Updated: batches})
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if expected == nil {
				require.Empty(t, out.String())
				return
			}
			require.Len(t, lines, len(expected))
			for i, line := range lines {
				require.Contains(t, line, expected[i])
				require.Contains(t, line, "repo=library")
			}
		})
	}
}

// TestAClientHearsAll checks that a client that asked for progress gets each step.
func TestAClientHearsAll(t *testing.T) {
	var heard []float64
	b := &building{logger: slog.New(slog.DiscardHandler), call: engines.Call{Caller: engines.Caller{Progress: func(done, _ float64, _ string) { heard = append(heard, done) }}}}
	report := b.progress(context.Background())
	report(1, 2)
	report(2, 2)
	require.Equal(t, []float64{1, 2}, heard)
}
