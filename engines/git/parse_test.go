package git

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/gitrun"
)

func TestUnquote(t *testing.T) {
	for text, want := range map[string]string{
		`plain name`: "plain name", `"a\tb\n\"c\"\\"`: "a\tb\n\"c\"\\", `"\303\274"`: "ü", `""`: "", `"\`: `"\`, `"\9"`: `"\9"`, "": "",
	} {
		require.Equal(t, want, unquote(text), text)
	}
}

// FuzzParsers shows that nothing git, or what stands in for it, prints makes a
// parser panic or lose count of the files.
func FuzzParsers(f *testing.F) {
	f.Add("2 \x000\x00")
	f.Add("# branch.ab +1 -2\x002 R. N... 1 2 3 a b R100 new\x00old\x00? x\x00u UU x\x001 M\x00")
	f.Add(":100644 100644 a b T\tx\n:1 2 3 4 R9\t\"a\\n\"\tb\n1\t2\tx\n-\t-\tb\n\ndiff --git a\n+x\ndiff --git b\n* Unmerged path b\n")
	f.Add("0123 1 1 1\nauthor A\nauthor-time 9\nauthor-tz +0200\n\ttext\n")
	f.Fuzz(func(t *testing.T, text string) {
		out := gitrun.Output{Data: []byte(text)}
		parseStatus(out.Records())
		parseCommits(out.Records())
		for _, cut := range []bool{true, false} {
			for _, file := range parseDiff(text, cut).Files {
				require.LessOrEqual(t, len(file.Patch), len(text))
			}
		}
		for _, line := range parseBlame(text) {
			require.NotEmpty(t, line.Date)
		}
	})
}
