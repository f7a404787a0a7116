package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes rows in columns.
type Table struct{ writer *tabwriter.Writer }

// NewTable returns a table that is written to out by Flush.
func NewTable(out io.Writer) Table { return Table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)} }

// Row adds a row. What does not print in a cell is made visible.
func (t Table) Row(cells ...string) { fmt.Fprintln(t.writer, Visible(strings.Join(cells, "\t"))) }

// Flush writes the rows.
func (t Table) Flush() error { return t.writer.Flush() }
