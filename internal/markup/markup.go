// Package markup tells Markdown that parsers survive.
package markup

import (
	"slices"
	"strings"
)

// The most of what makes a parser slow, or its output large: quotations and items within
// each other, signs of emphasis and links in a block, and cells of a table, which has as many
// in each row as in its head.
const (
	maxNested = 64
	maxSigns  = 2_000
	maxCells  = 20_000
)

// IsBounded reports whether a text has little enough of it. A block ends at an empty line.
func IsBounded(text string) bool {
	signs, widest, rows := 0, 0, 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			signs, widest, rows = 0, 0, 0
			continue
		}
		rows++
		widest = max(widest, strings.Count(line, "|"))
		for i := range len(line) {
			if strings.IndexByte("*_~[]", line[i]) >= 0 {
				signs++
			}
		}
		if signs > maxSigns || widest*rows > maxCells || nested(line) > maxNested {
			return false
		}
	}
	return true
}

// nested counts the signs of quotations and items at the begin of a line.
func nested(line string) (count int) {
	for {
		line = strings.TrimLeft(line, " \t")
		rest := strings.TrimLeft(line, "0123456789")
		item := rest != "" && (rest[0] == '.' || rest[0] == ')') && rest != line || line == rest && line != "" && strings.IndexByte("-+*", line[0]) >= 0
		switch {
		case strings.HasPrefix(line, ">"):
			line = line[1:]
		case item && (len(rest) == 1 || strings.IndexByte(" \t\r\n", rest[1]) >= 0):
			line = rest[1:]
		default:
			return count
		}
		count++
	}
}

// Words returns the words of a text, joined by one space, without marks of citation.
func Words(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		words = append(words, strings.Fields(strings.TrimLeft(line, "> \t"))...)
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return strings.Trim(word, ">") == "" }), " ")
}
