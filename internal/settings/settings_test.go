package settings_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/settings"
	"savant/test/golden"
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
	require.Equal(t, settings.Settings{Services: []string{"all"}, Path: "./", Trust: []string{}, ShownFiles: []string{}, LogLevel: slog.LevelInfo,
		SlowCall: time.Second, Enforce: "off",
		Agent: settings.Agent{MaxSteps: 25, RetryLimit: 1}, Store: settings.StoreFile, Mongo: settings.Mongo{Environment: "development"},
		Reasoning: settings.Reasoning{Transport: "http", Timeout: 2 * time.Minute, Retries: 2, Think: "auto", SLMBudget: 8000, LLMBudget: 32000,
			Services: map[string]*settings.ModelService{"ollama": {URL: "http://127.0.0.1:11434"}, "anthropic": {URL: "https://api.anthropic.com"}, "openai": {URL: "https://api.openai.com/v1"}}}}, loaded.Settings)
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
		{settings.EnvEnforce, "perhaps"},
		{settings.EnvServices, " , "},
		{"REASONING_API_RETRIES", "11"},
		{"REASONING_API_TIMEOUT_MS", "0"},
		{"REASONING_API_TIMEOUT_MS", "soon"},
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
	flags := 1 // --set
	for _, row := range settings.Table() {
		for kind, name := range map[string]string{"flag": row.Flag, "variable": row.Env, "key": row.Key} {
			require.False(t, name != "" && seen[kind+name], name)
			seen[kind+name] = true
		}
		require.NotEmpty(t, row.Key)
		require.NotEmpty(t, row.Doc)
		if row.Flag != "" {
			flags++
		}
	}
	require.LessOrEqual(t, len(settings.Table()), 44, "who adds a setting takes one away")
	require.LessOrEqual(t, flags, 14, "flags are for what people type")
}

// TestAFlagThatIsNone: a setting without a flag is set by --set.
func TestAFlagThatIsNone(t *testing.T) {
	require.Contains(t, settings.Instead("shown-files"), "--set shown_files=VALUE")
	require.Contains(t, settings.Instead("reasoning-api-retrys"), "--set reasoning.api_retries=VALUE")
	require.Contains(t, settings.Instead("llm-model"), "--set llm.llm_model=VALUE")
	require.Contains(t, settings.Instead("shown"), "--set shown_files=VALUE")
	for _, word := range []string{"nonsense", "all", "al", "not"} {
		require.Empty(t, settings.Instead(word))
	}
}

// TestTheModelsHaveTwoVariables: scripts that people wrote go on with the first names.
func TestTheModelsHaveTwoVariables(t *testing.T) {
	loaded, err := settings.Load(from(nil), environment(map[string]string{settings.EnvPath: t.TempDir(), "SAVANT_SLM": "openai:m", "SAVANT_LLM": "a", "LLM_MODEL": "b"}), everybody)
	require.NoError(t, err)
	require.Equal(t, []string{"openai:m", "b"}, []string{loaded.Reasoning.SLM, loaded.Reasoning.LLM})
}

func TestAssignments(t *testing.T) {
	values, err := settings.Assignments([]string{"agent.maxSteps=7", "telemetry.slow_threshold_ms=1", "agent.max_steps=8", "llm.prices={\"m=n\": {}}"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"agent.max_steps": "8", "telemetry.slow_threshold_ms": "1", "llm.prices": `{"m=n": {}}`}, values)
	for text, says := range map[string]string{
		"agent.max_steps": "expected KEY=VALUE", "agent.max_step=1": "did you mean agent.max_steps?", "AGENT_MAX_STEPS=1": "did you mean agent.max_steps?",
		"max_steps=1": "did you mean agent.max_steps?", "LLM_MODL=x": "did you mean llm.llm_model?", "llm.modl=x": "did you mean llm.llm_model?",
		"loglevel=info": "did you mean telemetry.log_level?", "savant-pth=.": "did you mean savant_path?", "xy=1": `unknown key "xy"; savant`, "tool_names=auto": `unknown key "tool_names"; savant`,
	} {
		_, err := settings.Assignments([]string{text})
		require.ErrorIs(t, err, fault.InvalidParams)
		require.ErrorContains(t, err, says)
	}
}
