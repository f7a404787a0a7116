package program

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Help fits a terminal: the commands in five groups, and no settings.
func TestHelpFitsATerminal(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help"}, {"help", "settings"}} {
		var stdout, stderr strings.Builder
		require.Zero(t, run(t.Context(), args, []string{"SAVANT_PATH=" + t.TempDir(), "HOME=" + t.TempDir()}, strings.NewReader(""), &stdout, &stderr))
		lines := strings.Split(strings.TrimRight(stdout.String(), "\n"), "\n")
		require.LessOrEqual(t, len(lines), 32, args)
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
		}
		require.Equal(t, args[0] != "help" || len(args) == 1, !strings.Contains(stdout.String(), "slm_model"))
	}
}
