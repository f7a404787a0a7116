package mcpio_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpclient"
)

// BenchmarkCallNothing is the cost of a tool that does nothing, through the
// pipes and back, with 1 KB of arguments. It is the H of docs/performance.md.
func BenchmarkCallNothing(b *testing.B) {
	nothing := tool("test.nothing", func(context.Context, engines.Call, json.RawMessage) (any, error) { return struct{}{}, nil })
	client := connect(b, options(b, nothing), mcpclient.Options{})
	args := map[string]string{"payload": strings.Repeat("x", 1024)}
	b.ReportAllocs()
	for b.Loop() {
		_, err := client.Call(b.Context(), "test.nothing", args)
		require.NoError(b, err)
	}
}
