package lsp

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkEditor measures a workflow of 2,000 lines: from a change to what is wrong with
// it, and a completion in its last line.
func BenchmarkEditor(b *testing.B) {
	var text strings.Builder
	text.WriteString(head)
	for i := range 500 {
		fmt.Fprintf(&text, "  - id: s%d\n    call: flow.set\n    input_template: {value: \"{{ state.commits.commits }}\"}\n    capture_as: c%d\n", i, i)
	}
	content, at := cursor(file, text.String()+"outputs:\n  a: \"{{ state.commits.|")
	e := begin(b, nil)
	e.write(file, 1, content)
	version := 1
	b.Run("diagnostics", func(b *testing.B) {
		for b.Loop() {
			version++
			e.write(file, version, text.String()+strings.Repeat("\n", version%7))
		}
	})
	b.Run("completion", func(b *testing.B) {
		for b.Loop() {
			e.call("textDocument/completion", at, nil)
		}
	})
}
