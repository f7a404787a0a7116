package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/settings"
)

// value returns what a text is for the row of a variable.
func value(t *testing.T, variable, text string) settings.Value {
	t.Helper()
	for _, row := range settings.Table() {
		if row.Env == variable {
			return settings.Value{Setting: row, Text: text}
		}
	}
	t.Fatalf("no row of %s", variable)
	return settings.Value{}
}

func TestWhatIsShown(t *testing.T) {
	for _, c := range []struct {
		variable, text, shown string
		json                  any
	}{
		{"REASONING_API_TOKEN", "hunter2", "(set)", true},
		{"REASONING_API_TOKEN", "", "(not set)", false},
		{"REASONING_API_URL", "", "(not set)", ""},
		{"REASONING_API_URL", "https://api.example/v1", "https://api.example/v1", "https://api.example/v1"},
		{"REASONING_API_URL", "https://ada:hunter2@api.example:8/a%2Fb?key=hunter2#hunter2",
			"https://[redacted]@api.example:8/a%2Fb?[redacted]", "https://[redacted]@api.example:8/a%2Fb?[redacted]"},
		{"REASONING_API_URL", "https://hunter2@", "[redacted]", "[redacted]"},
		{"REASONING_API_URL", "ada:hunter2@api.example", "[redacted]", "[redacted]"},
		{"REASONING_API_URL", "https://ada:hunter2%@api.example", "[redacted]", "[redacted]"},
		{"REASONING_API_URL", "hunter2@api.example", "[redacted]", "[redacted]"},
		{"REASONING_API_URL", "api.example/v1", "api.example/v1", "api.example/v1"},
		{"SLOW_THRESHOLD_MS", "7", "7", 7},
		{"AGENT_DISABLE_TOOLS", "1", "1", true},
		{"MCP_SERVICE", "think, git,", "think, git,", []string{"think", "git"}},
		{"SAVANT_REPOS", "", "(not set)", []string{}},
		{"LOG_LEVEL", "info", "info", "info"},
	} {
		v := value(t, c.variable, c.text)
		require.Equal(t, c.shown, v.Redacted(), c.text)
		require.Equal(t, c.json, v.JSON(), c.text)
	}
}
