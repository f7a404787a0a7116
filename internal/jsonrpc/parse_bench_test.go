package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonrpc"
)

// BenchmarkParse measures reading a call, by the size of its result.
func BenchmarkParse(b *testing.B) {
	for size, n := range map[string]int{"1KB": 1 << 10, "256KB": 256 << 10} {
		line := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"think_next","arguments":{"run_id":"r1","step_id":"a","result_snapshot":{"text":"` +
			strings.Repeat("x", n) + `","items":[` + strings.Repeat(`{"a":1},`, n/64) + `1]}},"_meta":{"progressToken":1}}}`)
		b.Run(size, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				_, refused := jsonrpc.Parse(line)
				require.Nil(b, refused)
			}
		})
	}
}
