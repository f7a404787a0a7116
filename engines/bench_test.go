package engines_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
)

// BenchmarkCall is what a call costs before its tool does anything, with its
// parts one after the other: arguments checked, a place taken, the result
// encoded; then an event; then a time; then a receipt.
func BenchmarkCall(b *testing.B) {
	type answer struct {
		OK bool `json:"ok"`
	}
	nothing := engines.Bind("x.nothing", "Does nothing.", func(context.Context, echoIn) (answer, error) { return answer{true}, nil })
	timed := nothing
	timed.Timeout = time.Minute
	observed := engines.Options{Observer: observerFunc(unobserved)}
	receipted := engines.Options{Receipts: receiptFunc(func(context.Context, engines.Receipt) error { return nil })}
	for _, c := range []struct {
		name    string
		options engines.Options
		tool    engines.Tool
	}{{"plain", engines.Options{}, nothing}, {"observed", observed, nothing}, {"timed", engines.Options{}, timed}, {"receipted", receipted, nothing}} {
		b.Run(c.name, func(b *testing.B) {
			table := engines.NewRegistry(c.options)
			require.NoError(b, table.Add(c.tool))
			args := json.RawMessage(`{"workflow":"a","limit":3}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := table.Invoke(b.Context(), engines.Call{}, "x.nothing", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
