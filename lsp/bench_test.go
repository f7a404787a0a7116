package lsp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkEditor measures a workflow of 2,000 lines: from a change to what is wrong with
// it, and a completion in its last line. The goal for p95 is 50 ms.
func BenchmarkEditor(b *testing.B) {
	var text strings.Builder
	text.WriteString(head)
	for i := range 500 {
		fmt.Fprintf(&text, "  - id: s%d\n    call: flow.set\n    input_template: {value: \"{{ state.commits.commits }}\"}\n    capture_as: c%d\n", i, i)
	}
	content, at := splitCursor(file, text.String()+"outputs:\n  a: \"{{ state.commits.|")
	e := begin(b, nil)
	e.write(file, 1, content)
	version := 1
	b.Run("diagnostics", func(b *testing.B) {
		timed(b, func() {
			version++
			e.write(file, version, text.String()+strings.Repeat("\n", version%7))
		})
	})
	b.Run("completion", func(b *testing.B) {
		timed(b, func() { e.call("textDocument/completion", at, nil) })
	})
}

// timed reports the time that 19 of 20 calls stay below.
func timed(b *testing.B, call func()) {
	var took []time.Duration
	for b.Loop() {
		begun := time.Now()
		call()
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}
