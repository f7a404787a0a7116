// Package golden compares what tests get with golden files.
package golden

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// Compare requires that the content of a file is got. With update it writes the file
// first.
func Compare(t testing.TB, update bool, file, got string) {
	t.Helper()
	if update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "if this is meant, run the test with -update and read the difference")
}

// maxCase bounds what a golden file shows of a case, in bytes.
const maxCase = 160

// Messages compares the message of each case of a table with a golden file. The test
// itself compares codes and places; the file holds the wording.
func Messages(t testing.TB, update bool, file string, messages map[string]string) {
	t.Helper()
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		shown := fault.Cut(name, maxCase)
		if !strconv.CanBackquote(shown) {
			shown = strconv.Quote(shown)
		}
		lines.WriteString(shown + "\n\t" + strings.ReplaceAll(messages[name], "\n", "\n\t") + "\n")
	}
	Compare(t, update, file, lines.String())
}

// Section compares the part of a document that stands between the comments
// "<!-- generated: NAME -->" and "<!-- end -->" with text. With update it writes the part
// first; the rest of the document stays.
func Section(t testing.TB, update bool, file, name, text string) {
	t.Helper()
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	begin := "<!-- generated: " + name + " -->\n"
	before, rest, found := strings.Cut(string(page), begin)
	require.True(t, found, "%s has no line %q", file, begin)
	_, after, found := strings.Cut(rest, "<!-- end -->")
	require.True(t, found, "%s: the section %s has no end", file, name)
	Compare(t, update, file, before+begin+"\n"+strings.TrimSpace(text)+"\n\n<!-- end -->"+after)
}
