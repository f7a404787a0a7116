package redact_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/redact"
)

// values are secrets as an environment may have them.
var values = []string{"ghx_abcdefghijklmnopqrstuvwxyz012345", `correct "horse" battery/staple?`, "0123456789abcdef0123456789abcdef",
	"AbCdEfGhIjKlMnOpQrStUvWxYz", "another-long-secret-value-1", "swordfish-swordfish"}

// BenchmarkRedact cleans what a step leaves in the trace, the arguments of a
// call, and source code as text and as the result of a tool.
func BenchmarkRedact(b *testing.B) {
	source, err := os.ReadFile("../../telemetry/recorder.go")
	require.NoError(b, err)
	output, err := json.Marshal(map[string]any{"text": string(source), "path": "internal/redact/redact.go"})
	require.NoError(b, err)
	args := json.RawMessage(`{"query":"indexer camelCase","limit":20,"paths":["engines/repo/index","cmd/savant"],"goal":"find where the words of a goal are looked up, and say why"}`)
	words := strings.Repeat("no word of this has to do with what is looked for.\n", 140)
	all, certain := redact.New(values...), redact.New(values...).Certain()
	fields := []string{"01k8zabcdefghjkmnpqrstvwxy", "01k8zabcdefghjkmnpqrstvwxz", "hello", "s12", "", "", "think.next", "123", "", "ok", ""}
	for name, work := range map[string]struct {
		bytes int
		clean func()
	}{
		"step": {0, func() {
			for _, each := range fields {
				all.Text(each)
			}
			all.Value(map[string]any{"input_bytes": 1200, "output_bytes": 900})
		}},
		"args":   {len(args), func() { all.JSON(args) }},
		"text":   {len(source), func() { all.Text(string(source)) }},
		"words":  {len(words), func() { all.Text(words) }},
		"output": {len(output), func() { certain.JSON(output) }},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(work.bytes))
			for b.Loop() {
				work.clean()
			}
		})
	}
}
