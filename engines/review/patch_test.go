package review

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// However a patch is cut, each changed line is in one part, in order, and a part is
// over its bound only for a single line that is.
func TestPackLosesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var hunks []passage
		for range rapid.IntRange(0, 5).Draw(r, "hunks") {
			hunk, now := passage{path: rapid.SampledFrom([]string{"a", "b/c"}).Draw(r, "path")}, 1
			for range rapid.IntRange(1, 60).Draw(r, "lines") {
				each := line{Kind: rapid.SampledFrom([]byte("   +-")).Draw(r, "kind"), Text: rapid.StringMatching(`[a-z\t ]{0,40}`).Draw(r, "text")}
				if each.Kind != '-' {
					each.New, now = now, now+1
				}
				hunk.lines = append(hunk.lines, each)
			}
			hunks = append(hunks, hunk)
		}
		changed := func(passages []passage) (all []line) {
			for _, each := range passages {
				for _, l := range each.lines {
					if l.Kind != ' ' {
						all = append(all, l)
					}
				}
			}
			return all
		}
		var clipped, packed []passage
		for _, hunk := range hunks {
			clipped = append(clipped, clip(hunk)...)
		}
		room := rapid.IntRange(300, 2000).Draw(r, "room")
		for _, part := range pack(clipped, room) {
			packed = append(packed, part.passages...)
			require.LessOrEqual(r, len(part.text(map[string]fileChange{})), room)
		}
		require.Equal(r, changed(hunks), changed(clipped))
		require.Equal(r, changed(hunks), changed(packed))
	})
}

// FuzzParsePatch: any text is read or refused, and what is read has the lines of the
// text.
func FuzzParsePatch(f *testing.F) {
	f.Add("@@ -1,2 +1,2 @@ func a()\n a\n-b\n+c\n\\ No newline at end of file\n")
	f.Add("@@ -0,0 +1 @@\n+@@ -1 +1 @@\n")
	f.Fuzz(func(t *testing.T, patch string) {
		hunks, err := parsePatch("a", patch)
		if err != nil {
			return
		}
		for _, hunk := range hunks {
			for _, each := range hunk.lines {
				require.Contains(t, patch, each.Text)
			}
			for _, each := range clip(hunk) {
				require.NotZero(t, each.changes())
			}
		}
	})
}

func TestReportsAreReadableAsMarkdown(t *testing.T) {
	r := Report{Decision: "request_changes", Summary: "Two\n\n# lines", Findings: []Finding{{Path: "a|b.go", Line: 3, Severity: "major", Message: "It is\n## wrong", Evidence: "```\nx"}},
		Change: Manifest{Title: "main..feature", Files: []fileChange{{Path: "a|b.go", Status: "modified", Additions: 1}, {Path: "go.sum", Status: "modified", Additions: 2, LeftOut: "lock file"}},
			Parts: []partInfo{{Number: 1}}, Lines: Lines{All: 3, Reviewed: 1, LeftOut: 2}}}
	text := r.Markdown()
	require.Contains(t, text, "# Review of main..feature: request changes\n\nTwo # lines\n")
	require.Contains(t, text, "### major: a|b.go:3\n\nIt is ## wrong\n\n````\n```\nx\n````\n")
	require.Contains(t, text, "1 of 3 changed lines, in 1 part. 2 lines were left out.")
	require.Contains(t, text, "| `a\\|b.go` | modified | +1 -0 | reviewed |\n| `go.sum` | modified | +2 -0 | left out: lock file |")
	require.Equal(t, 1, strings.Count(text, "\n# Review")+strings.Count(text[:9], "# Review"))

	r.Vetoes = []string{"a finding is a blocker", "its tests did not pass"}
	require.Contains(t, r.Markdown(), ": request changes\n\nVeto: the reviewer approved this change, but a finding is a blocker, and its tests did not pass. So changes are asked for.\n\nTwo # lines\n")
	sarif, err := r.SARIF()
	require.NoError(t, err)
	require.Contains(t, string(sarif), "Veto: the reviewer approved this change")
	require.NotContains(t, text, "Veto")
}
