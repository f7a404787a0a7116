package adopt

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The other branch of a condition is found with a mark before it and without.
func TestTheOtherBranchOfACondition(t *testing.T) {
	for text, want := range map[string]branches{
		"If the tests fail then fix them else go on.":             {"the tests fail", "fix them.", "go on."},
		"If the tests fail, then fix them, otherwise go on":       {"the tests fail", "fix them.", "go on"},
		"If it is red: stop. Else, tag it.":                       {"it is red", "stop.", "tag it."},
		"If it fails, ask someone else to look.":                  {"it fails", "ask someone else to look.", ""},
		"If it fails, change nothing else, else revert the merge": {"it fails", "change nothing else.", "revert the merge"},
		"If it is open then ask anybody else or wait else go on":  {"it is open", "ask anybody else or wait.", "go on"},
	} {
		found, is := conditional(text)
		require.True(t, is, text)
		require.Equal(t, want, found, text)
	}
}
