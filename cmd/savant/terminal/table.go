package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes a row for each item, in columns. What does not print in a cell is
// made visible.
func Table[T any](out io.Writer, items []T, cells func(T) []string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, each := range items {
		fmt.Fprintln(table, Visible(strings.Join(cells(each), "\t")))
	}
	return table.Flush()
}
