package fault_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

func TestQuoting(t *testing.T) {
	text := "name: é\n\twhen: x\r\n\n" + strings.Repeat("a", 300) + "b" + strings.Repeat("c", 300)
	for _, c := range []struct {
		line, column int
		want         string
	}{
		{1, 7, "name: é\n      ^"},
		{2, 8, "\twhen: x\n\t      ^"},
		{3, 1, ""}, // an empty line
		{9, 1, ""}, // not there
		{1, 99, ""},
		{0, 0, ""},
	} {
		d := fault.Diagnostic{Line: c.line, Column: c.column}
		require.Equal(t, c.want, d.Quoting(fault.Lines(text)).Source, "%d:%d", c.line, c.column)
	}
	long, caret, _ := strings.Cut(fault.Diagnostic{Line: 4, Column: 301}.Quoting(fault.Lines(text)).Source, "\n")
	require.Len(t, long, 120)
	require.Equal(t, strings.IndexByte(long, 'b'), strings.IndexByte(caret, '^'))
	require.Empty(t, fault.Diagnostic{Line: 1, Column: 300}.Quoting([]string{strings.Repeat("x", 1<<20)}).Source, "each finding in it would cost a megabyte")
	require.Equal(t, "kept", fault.Diagnostic{Line: 1, Column: 1, Source: "kept"}.Quoting(fault.Lines(text)).Source)
}
