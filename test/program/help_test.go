package program

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"savant/internal/settings"
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
	for _, each := range settings.Table() {
		section, _, _ := strings.Cut(each.Key, ".")
		var stdout strings.Builder
		require.Zero(t, run(t.Context(), []string{"help", "settings", section}, nil, strings.NewReader(""), &stdout, io.Discard))
		lines := strings.Split(strings.TrimRight(stdout.String(), "\n"), "\n")
		require.LessOrEqual(t, len(lines), 40, section)
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
		}
	}
}
