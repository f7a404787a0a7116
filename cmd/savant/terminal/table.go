package terminal

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"savant/internal/visible"
)

// Table writes a row per item, in columns below a header. Unprintable characters in
// cells are made visible. At a terminal a row is one line: the longest cells are
// truncated first, but never the first column, which names the item. Without items
// nothing is written. Without a header nothing is truncated.
func Table[T any](out io.Writer, header []string, items []T, cells func(T) []string) error {
	if len(items) == 0 {
		return nil
	}
	var rows [][]string
	width := 0
	if len(header) > 0 {
		rows, width = append(rows, header), widthOf(out)
	}
	for _, each := range items {
		shown := cells(each)
		for i := range shown {
			shown[i] = visible.Line(shown[i])
		}
		rows = append(rows, shown)
	}
	_, err := io.WriteString(out, laidOut(rows, width))
	return err
}

// gap separates two columns.
const gap = "  "

// laidOut returns rows in columns, with lines of at most limit columns; 0 means no
// limit.
func laidOut(rows [][]string, limit int) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(cell))
		}
	}
	if limit > 0 {
		shrink(widths, limit-len(gap)*(len(widths)-1))
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = cutTo(cell, widths[i])
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-columns(cell)) + gap)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// narrowest is the minimum width of a shrunk column.
const narrowest = 6

// shrink narrows the widest columns except the first until all fit the limit.
func shrink(widths []int, limit int) {
	total := 0
	for _, each := range widths {
		total += each
	}
	for ; total > limit; total-- {
		widest := -1
		for i := range widths[1:] {
			if widest < 0 || widths[i+1] >= widths[widest] {
				widest = i + 1
			}
		}
		if widest < 0 || widths[widest] <= narrowest {
			return
		}
		widths[widest]--
	}
}

// columns returns how many terminal columns a text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cutTo truncates a text to a number of columns, with a final …
func cutTo(text string, limit int) string {
	if columns(text) <= limit {
		return text
	}
	taken := 0
	for i, r := range text {
		if taken+columnsOf(r) > limit-1 {
			return text[:i] + "…"
		}
		taken += columnsOf(r)
	}
	return text
}

// widthOf returns the width of a stream's terminal; 0 for any other stream.
func widthOf(out io.Writer) int {
	if wrapped, ok := out.(*Output); ok {
		out = wrapped.Writer
	}
	file, ok := out.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
