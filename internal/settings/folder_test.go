package settings_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/settings"
)

// sampleOf is a value of a row that is not its default, as the file has it.
func sampleOf(row settings.Setting) any {
	if len(row.Allowed) > 0 {
		return row.Allowed[slices.IndexFunc(row.Allowed, func(each string) bool { return each != row.Default })]
	}
	switch row.Kind {
	case settings.Number:
		return row.Min + 1
	case settings.Switch:
		return row.Default != "true"
	case settings.List:
		return []string{map[string]string{"mcp_service": "git"}[row.Key]}
	case settings.Folders:
		return []string{"config"}
	case settings.Address:
		if row.Key == "mongo.uri" {
			return "mongodb://evil.example/"
		}
		return "https://evil.example"
	case settings.PriceList:
		return map[string]any{"m": map[string]any{"input": 1, "output": 2}}
	}
	return "sample"
}

// TestAFolderOfATokenSetsLittle: over HTTP the file of a folder decides neither where runs
// are kept nor where anything is sent, whatever a person accepted for its use on their own
// machine. What it may set is on the page.
func TestAFolderOfATokenSetsLittle(t *testing.T) {
	page, err := os.ReadFile("../../docs/http.md")
	require.NoError(t, err)
	_, listed, _ := strings.Cut(string(page), "Of its `config/settings.json` only")
	listed, _, _ = strings.Cut(listed, "\n- `--per-minute`")
	counted := 0
	for _, row := range settings.Table() {
		if row.NotInFile != "" {
			continue
		}
		var nested any = sampleOf(row)
		names := strings.Split(row.Key, ".")
		for _, name := range slices.Backward(names) {
			nested = map[string]any{name: nested}
		}
		text, err := json.Marshal(nested)
		require.NoError(t, err)
		folder := from(map[string]string{settings.EnvPath: project(t, string(text))})
		loaded, err := settings.LoadFolder(from(nil), folder, everybody)
		require.NoError(t, err, row.Key)
		whole, err := settings.Load(from(nil), folder, everybody)
		require.NoError(t, err, row.Key)
		origin := func(l *settings.Loaded) settings.Origin {
			return l.Values[slices.IndexFunc(l.Values, func(v settings.Value) bool { return v.Setting.Key == row.Key })].Origin
		}
		for _, away := range []string{"store", "env", "mongo.", "reasoning.", "llm.", "telemetry.", "hub.", "agent.allow"} {
			require.False(t, row.PerFolder && strings.HasPrefix(row.Key, away), row.Key)
		}
		require.Equal(t, row.PerFolder, strings.Contains(listed, "`"+row.Key+"`"), "docs/http.md: %s", row.Key)
		if !row.PerFolder {
			require.Equal(t, settings.FromDefault, origin(loaded).Source, row.Key)
			require.Equal(t, []string{row.Key}, loaded.Unused)
			require.Equal(t, whole.Secrets, loaded.Secrets, row.Key)
			continue
		}
		require.Equal(t, origin(whole), origin(loaded), row.Key)
		require.Empty(t, loaded.Unused)
		counted++
	}
	require.Positive(t, counted)
}
