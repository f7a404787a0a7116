package savant_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTroubleshootingHasARowForEveryCode checks that docs/troubleshooting.md has exactly
// one row for each code of package fault, and none for others.
func TestTroubleshootingHasARowForEveryCode(t *testing.T) {
	source, err := os.ReadFile("fault/fault.go")
	require.NoError(t, err)
	page, err := os.ReadFile("docs/troubleshooting.md")
	require.NoError(t, err)
	codes, rows := map[string]int{}, map[string]int{}
	for _, each := range regexp.MustCompile(`(?m)^\t\w+ +Code = "([A-Z_]+)"$`).FindAllStringSubmatch(string(source), -1) {
		codes[each[1]]++
	}
	for _, each := range regexp.MustCompile(`(?m)^\| ([A-Z]+[A-Z_]*) \|.+\|.+\|$`).FindAllStringSubmatch(string(page), -1) {
		rows[each[1]]++
	}
	require.Greater(t, len(codes), 40)
	require.Equal(t, codes, rows)
}
