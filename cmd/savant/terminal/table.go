package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"savant/internal/visible"
)

// Table writes a row for each item, in columns. What does not print in a cell is
// made visible.
func Table[T any](out io.Writer, items []T, cells func(T) []string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, each := range items {
		shown := cells(each)
		for i := range shown {
			shown[i] = visible.Line(shown[i])
		}
		fmt.Fprintln(table, strings.Join(shown, "\t"))
	}
	return table.Flush()
}
