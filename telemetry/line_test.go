package telemetry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

func TestElapsed(t *testing.T) {
	t.Parallel()
	for milliseconds, want := range map[float64]string{0: "0.0ms", 0.004: "<0.1ms", 0.05: "0.1ms", 0.44: "0.4ms", 1: "1ms", 89.4: "89ms", 999.4: "999ms", 999.7: "1s", 1260: "1.3s", 61_000: "1m1s", 3_661_000: "1h1m", 176_413_800: "49h", 9.3e12: "1281023h54m"} {
		require.Equal(t, want, telemetry.Elapsed(milliseconds), milliseconds)
	}
}
