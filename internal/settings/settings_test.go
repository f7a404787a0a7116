package settings_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/golden"
	"savant/internal/settings"
)

// from returns a source that has these values, by variable.
func from(values map[string]string) func(settings.Setting) (string, bool) {
	return func(row settings.Setting) (string, bool) {
		value, ok := values[row.Env]
		return value, ok
	}
}

func TestDefaults(t *testing.T) {
	t.Chdir(t.TempDir())
	loaded, err := settings.Load(from(nil), from(nil), everybody)
	require.NoError(t, err)
	require.Equal(t, settings.Settings{Services: []string{"all"}, Path: "./", TrustedHosts: []string{}, Trust: []string{}, ShownFiles: []string{}, LogLevel: slog.LevelInfo,
		SlowCall: time.Second, ToolNames: "auto", Enforce: "off",
		Agent: settings.Agent{MaxSteps: 25, RetryLimit: 1, CacheMS: 2000, Labels: []string{}}, Store: settings.StoreFile, Mongo: settings.Mongo{Environment: "development"},
		Hub:  settings.Hub{Answers: true},
		HTTP: settings.HTTP{MaxBody: 8 << 20, PerMinute: 6000, Drain: 1200 * time.Millisecond},
		Reasoning: settings.Reasoning{Transport: "http", Timeout: 2 * time.Minute, Retries: 2, ModelTimeout: 2 * time.Minute, Patience: time.Minute, Think: "auto", SLMBudget: 8000, LLMBudget: 32000,
			OllamaURL: "http://127.0.0.1:11434", AnthropicURL: "https://api.anthropic.com", OpenAIURL: "https://api.openai.com/v1"}}, loaded.Settings)
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	loaded, err := settings.Load(from(map[string]string{settings.EnvLogLevel: "debug"}),
		from(map[string]string{settings.EnvLogLevel: "error", settings.EnvPath: "/elsewhere", settings.EnvServices: " think, git,think,"}), everybody)
	require.NoError(t, err)
	require.Equal(t, slog.LevelDebug, loaded.LogLevel)
	require.Equal(t, "/elsewhere", loaded.Path)
	require.Equal(t, []string{"think", "git"}, loaded.Services)
	require.True(t, loaded.Given)
}

func TestAnEmptyVariableIsNone(t *testing.T) {
	t.Chdir(t.TempDir())
	loaded, err := settings.Load(from(nil), from(map[string]string{settings.EnvServices: "", settings.EnvSlow: "", settings.EnvPath: ""}), everybody)
	require.NoError(t, err)
	require.False(t, loaded.Given)
	require.Equal(t, time.Second, loaded.SlowCall)
	require.Equal(t, "./", loaded.Path)
}

func TestZeroIsNeverSlow(t *testing.T) {
	loaded, err := settings.Load(from(nil), from(map[string]string{settings.EnvSlow: "0"}), everybody)
	require.NoError(t, err)
	require.Negative(t, loaded.SlowCall)
}

// TestRefusals checks which setting and value an error names. The wording is in
// testdata/refused_values.golden.
func TestRefusals(t *testing.T) {
	messages := map[string]string{}
	for _, c := range []struct{ variable, value string }{
		{settings.EnvLogLevel, "loud"},
		{settings.EnvLogLevel, "INFO"},
		{settings.EnvSlow, "-1"},
		{settings.EnvSlow, "1s"},
		{settings.EnvSlow, "99999999999999999999"},
		{settings.EnvToolNames, "camel"},
		{settings.EnvServices, " , "},
		{"REASONING_API_RETRIES", "11"},
		{"REASONING_API_TIMEOUT_MS", "0"},
		{"SAVANT_MODEL_TIMEOUT_MS", "soon"},
		{settings.EnvPath, "a\x00b"},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			_, err := settings.Load(from(nil), from(map[string]string{c.variable: c.value}), everybody)
			var refused *settings.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.variable, refused.Setting)
			require.Equal(t, c.value, refused.Value)
			messages[c.variable+"="+c.value] = err.Error()
		})
	}
	golden.Messages(t, *update, "testdata/refused_values.golden", messages)
}

// An empty flag was typed on purpose: it is not read as none.
func TestAnEmptyFlagIsRefused(t *testing.T) {
	_, err := settings.Load(from(map[string]string{settings.EnvPath: ""}), from(nil), everybody)
	var refused *settings.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, settings.EnvPath, refused.Setting)
	require.Empty(t, refused.Value)
}

func TestEveryRowIsWholeAndItsNamesAreItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range settings.Table() {
		for kind, name := range map[string]string{"flag": row.Flag, "variable": row.Env, "key": row.Key} {
			require.NotEmpty(t, name)
			require.False(t, seen[kind+name], name)
			seen[kind+name] = true
		}
		require.NotEmpty(t, row.Doc)
	}
}
