package savant_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Bounds of what a reader is asked to read: all pages together, a cell of a table, and a
// paragraph or an item of a list, in words. What stands in blocks of code and in sections
// that a test generates does not count.
const (
	maxWords     = 32000
	maxCell      = 40
	maxParagraph = 80
	maxReadme    = 100 // lines
)

var (
	codeBlock = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	generated = regexp.MustCompile(`(?s)<!-- generated: .*?<!-- end -->`)
	comment   = regexp.MustCompile(`(?s)<!--.*?-->`)
	linked    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#{1,6} (.*)$`)
	itemStart = regexp.MustCompile(`^\s*([-*]|\d+\.) `)
)

// prose is what of a page a reader reads sentence by sentence.
func prose(page string) string {
	return comment.ReplaceAllString(codeBlock.ReplaceAllString(generated.ReplaceAllString(page, ""), "\n"), "")
}

// words counts the words of a text: what has a letter or a digit.
func words(text string) int {
	count := 0
	for each := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(each, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			count++
		}
	}
	return count
}

// blocks splits prose into the cells of its tables, and its paragraphs and list items.
func blocks(text string) (cells, paragraphs []string) {
	var open []string
	end := func() {
		if len(open) > 0 {
			paragraphs = append(paragraphs, strings.Join(open, " "))
		}
		open = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "|"):
			end()
			cells = append(cells, strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "/"), "|")...)
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			end()
		case itemStart.MatchString(line):
			end()
			open = append(open, line)
		default:
			open = append(open, line)
		}
	}
	end()
	return cells, paragraphs
}

// TestPagesAreShort holds the pages to the bounds of words.
func TestPagesAreShort(t *testing.T) {
	total := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		read := prose(string(text))
		total += words(read)
		t.Logf("%6d %s", words(read), page)
		cells, paragraphs := blocks(read)
		for _, each := range cells {
			require.LessOrEqual(t, words(each), maxCell, "%s: a cell: %s", page, each)
		}
		for _, each := range paragraphs {
			require.LessOrEqual(t, words(each), maxParagraph, "%s: a paragraph: %s", page, each)
		}
	}
	t.Logf("%6d words in all", total)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), maxReadme, "lines of README.md")
	require.LessOrEqual(t, total, maxWords)
}

// TestPagesBeginWithAnExample checks that each page says first what it is for, and shows
// an example before it goes into parts.
func TestPagesBeginWithAnExample(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		lines := strings.Split(string(text), "\n")
		require.True(t, strings.HasPrefix(lines[0], "# "), page)
		example := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "> ") })
		require.True(t, example > 0 && example <= maxOpening, "%s shows no example in its first %d lines", page, maxOpening)
		first := prose(strings.Join(lines[1:example], "\n"))
		_, paragraphs := blocks(first)
		require.NotEmpty(t, paragraphs, "%s does not say what it is for", page)
	}
}

// maxOpening is how many lines a page has before its first example.
const maxOpening = 25

// TestLinksLeadSomewhere checks the links of the pages: files, and headings in them.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range append(pages(t), others(t)...) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, each := range linked.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""), -1) {
			target, err := url.Parse(each[1])
			require.NoError(t, err, "%s: %s", page, each[1])
			if target.Scheme != "" || target.Host != "" {
				continue
			}
			file := page
			if target.Path != "" {
				file = filepath.Join(filepath.Dir(page), target.Path)
				require.FileExists(t, file, "%s: %s", page, each[1])
			}
			if target.Fragment == "" || filepath.Ext(file) != ".md" {
				continue
			}
			linkedPage, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, anchors(string(linkedPage)), target.Fragment, "%s: %s", page, each[1])
		}
	}
}

// others are pages of the repository that do not belong to the documentation proper.
func others(t *testing.T) (found []string) {
	t.Helper()
	for _, each := range []string{"CHANGELOG.md", "CONTRIBUTING.md"} {
		if _, err := os.Stat(each); err == nil {
			found = append(found, each)
		}
	}
	return found
}

// anchors are the names under which a page's headings are linked.
func anchors(page string) (found []string) {
	for _, each := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		var anchor strings.Builder
		for _, r := range strings.ToLower(each[1]) {
			switch {
			case r == ' ' || r == '-':
				anchor.WriteByte('-')
			case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				anchor.WriteRune(r)
			}
		}
		found = append(found, anchor.String())
	}
	return found
}
