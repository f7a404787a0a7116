package settings_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/settings"
	"savant/internal/trust"
	"savant/test/golden"
)

// everybody accepts what the file says.
func everybody(string, []string, []trust.Part) *trust.Folder { return nil }

// project makes a folder with this file of settings.
func project(t testing.TB, text string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "config"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, settings.FileName), []byte(text), 0o600))
	return folder
}

// load reads a file of settings with these flags and variables, each by the
// name of the variable.
func load(t testing.TB, text string, flags, variables map[string]string) (*settings.Loaded, error) {
	t.Helper()
	all := map[string]string{settings.EnvPath: project(t, text)}
	for name, value := range variables {
		all[name] = value
	}
	return settings.Load(from(flags), from(all), everybody)
}

// origins are those of a few rows, by variable.
func origins(loaded *settings.Loaded) map[string]string {
	found := map[string]string{}
	for _, value := range loaded.Values {
		found[value.Setting.Env] = value.Origin.String()
	}
	return found
}

func TestEachSourceComesBeforeTheNext(t *testing.T) {
	loaded, err := load(t, `{
  "telemetry": {"log_level": "debug", "slow_threshold_ms": 7},
  "reasoning": {"api_retries": 1,
    "api_timeout_ms": 5e3}
}`, map[string]string{settings.EnvLogLevel: "error"}, map[string]string{settings.EnvLogLevel: "warn", settings.EnvSlow: "8", "REASONING_API_RETRIES": ""})
	require.NoError(t, err)
	require.Equal(t, slog.LevelError, loaded.LogLevel)
	require.Equal(t, 8*time.Millisecond, loaded.SlowCall)
	require.Equal(t, 1, loaded.Reasoning.Retries, "an empty variable sets nothing")
	require.Equal(t, 5*time.Second, loaded.Reasoning.Timeout)
	found := origins(loaded)
	require.Equal(t, "flag ", found[settings.EnvLogLevel])
	require.Equal(t, "environment SLOW_THRESHOLD_MS", found[settings.EnvSlow])
	require.Equal(t, "config/settings.json:3", found["REASONING_API_RETRIES"])
	require.Equal(t, "config/settings.json:4", found["REASONING_API_TIMEOUT_MS"])
	require.Equal(t, "default", found[settings.EnvServices])
	require.Equal(t, "environment SAVANT_PATH", found[settings.EnvPath])
	require.True(t, loaded.IsSet(settings.EnvSlow))
	require.False(t, loaded.IsSet(settings.EnvServices))
}

func TestListsOfTheFile(t *testing.T) {
	loaded, err := load(t, `{"$schema": "x", "mcp_service": ["think", " git", "think"], "git_roots": ["../a", "/b"], "repos": "lib",
		"agent": {"disable_tools": true}}`, nil, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"think", "git"}, loaded.Services)
	require.False(t, loaded.Given, "nobody asked for a server")
	require.Equal(t, []string{filepath.Join(filepath.Dir(loaded.Path), "a"), "/b"}, loaded.GitRoots)
	require.Equal(t, []string{filepath.Join(loaded.Path, "lib")}, loaded.Repos)
	require.True(t, loaded.Agent.DisableTools)
}

func TestAByteOrderMarkAndAnEmptyObject(t *testing.T) {
	for _, text := range []string{"\uFEFF{}", "\n {}\n"} {
		_, err := load(t, text, nil, nil)
		require.NoError(t, err)
	}
}

// refusedAt checks that an error of the file is at "line:column", and returns its message.
func refusedAt(t *testing.T, err error, at string) string {
	t.Helper()
	require.ErrorIs(t, err, fault.InvalidParams)
	first := fault.From(err).Diagnostics[0]
	require.Equal(t, settings.FileName, first.File)
	require.Equal(t, at, fmt.Sprintf("%d:%d", first.Line, first.Column), "%v", err)
	require.Contains(t, err.Error(), settings.FileName+":"+at)
	return fault.From(err).Details
}

// TestAFileThatIsRefused checks the place of each error. The wording is in
// testdata/refused_files.golden.
func TestAFileThatIsRefused(t *testing.T) {
	messages := map[string]string{}
	for text, at := range map[string]string{
		`{"agnt": {}}`:                                     "1:2",
		`{"agent": {"disable_tool": true}}`:                "1:12",
		`{"REASONING_API_URL": "x"}`:                       "1:2",
		`{"reasoning.api_url": "x"}`:                       "1:2",
		`{"log_level": "info"}`:                            "1:2",
		`{"agent": {"enforce": "off"}}`:                    "1:12",
		`{"": 1}`:                                          "1:2",
		"{\n \"é\": 1, \"savant_path\": \".\"}":            "2:2",
		`{"savant_path": "."}`:                             "1:2",
		`{"telemetry": []}`:                                "1:15",
		`{"telemetry": null}`:                              "1:15",
		`{"telemetry": {"log_level": "loud"}}`:             "1:29",
		`{"telemetry": {"log_level": 1}}`:                  "1:29",
		`{"telemetry": {"slow_threshold_ms": "1"}}`:        "1:37",
		`{"telemetry": {"slow_threshold_ms": 1.5}}`:        "1:37",
		`{"telemetry": {"slow_threshold_ms": 1e400}}`:      "1:37",
		`{"telemetry": {"slow_threshold_ms": -1}}`:         "1:37",
		`{"agent": {"disable_tools": "true"}}`:             "1:29",
		`{"agent": {"disable_tools": null}}`:               "1:29",
		`{"reasoning": {"api_token": ["hunter2hunter2"]}}`: "1:29",
		`{"mcp_service": ["a,b"]}`:                         "1:17",
		`{"mcp_service": []}`:                              "1:17",
		`{"mcp_service": [1]}`:                             "1:17",
		`{"mcp_service": {}}`:                              "1:17",
		`{"enforce": "off", "enforce": "required"}`:        "1:20",
		"{\"agent\": {},\n\"agent\": {}}":                  "2:1",
		`{"enforce": "off"} {}`:                            "1:20",
		`{"enforce": "off",}`:                              "1:18",
		"{\n \"enforce\"":                                  "2:11",
		``:                                                 "1:1",
		` [1]`:                                             "1:2",
		`null`:                                             "1:1",
		"{\"enforce\": \"\xff\"}":                          "1:14",
		strings.Repeat("[", 20_000):                        "1:201",
	} {
		_, err := load(t, text, nil, map[string]string{settings.EnvEnforce: "off", settings.EnvSlow: "1"})
		require.NotContains(t, err.Error(), "hunter2")
		messages[text] = refusedAt(t, err, at)
	}
	golden.Messages(t, *update, "testdata/refused_files.golden", messages)
}

func TestFoldersThatCannotBeAList(t *testing.T) {
	for _, text := range []string{`{"repos": ["a` + string(filepath.ListSeparator) + `b"]}`, `{"repos": ""}`, `{"repos": ["a\u0000"]}`} {
		_, err := load(t, text, nil, nil)
		require.Equal(t, "repos", fault.From(err).Diagnostics[0].Path, text)
	}
}

// Everything that is wrong is said at once, up to a bound.
func TestAllThatIsWrongIsSaid(t *testing.T) {
	_, err := load(t, `{"agnt": 1, "tool_names": 2, "telemetry": {"log_level": "x"}}`, nil, nil)
	require.Len(t, fault.From(err).Diagnostics, 3)
	_, err = load(t, "{"+strings.Repeat(`"x": 1,`, 1000)+`"x": 1}`, nil, nil)
	require.Len(t, fault.From(err).Diagnostics, 20)
	_, err = load(t, `{"agent": {`+strings.Repeat(`"disable_tools": true,`, 40_000)+`"x": 1}}`, nil, nil)
	require.Len(t, fault.From(err).Diagnostics, 20)
}

func TestAFileThatCannotBeRead(t *testing.T) {
	_, err := load(t, "{"+strings.Repeat(" ", 1<<20)+"}", nil, nil)
	require.ErrorIs(t, err, fault.LimitExceeded)

	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, settings.FileName), 0o700))
	_, err = settings.Load(from(nil), from(map[string]string{settings.EnvPath: folder}), everybody)
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, settings.FileName)

	folder = t.TempDir()
	outside := filepath.Join(project(t, "{}"), settings.FileName)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "config"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, settings.FileName)))
	_, err = settings.Load(from(nil), from(map[string]string{settings.EnvPath: folder}), everybody)
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, settings.FileName)
	require.NotContains(t, err.Error(), folder)
}

// Other programs keep other things under that name, a bare repository of git too.
func TestAProjectWithAFileNamedConfig(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "config"), []byte("[core]\n"), 0o600))
	loaded, err := settings.Load(from(nil), from(map[string]string{settings.EnvPath: folder}), everybody)
	require.NoError(t, err)
	require.Equal(t, folder, loaded.Path)
}

func TestAFileWithASecretThatOthersMayRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions of Windows are others")
	}
	for text, exposed := range map[string]bool{`{"reasoning": {"api_token": "hunter2hunter2"}}`: true, `{"reasoning": {"api_token": ""}}`: false, `{}`: false} {
		for mode, readable := range map[os.FileMode]bool{0o600: false, 0o640: true, 0o604: true} {
			folder := project(t, text)
			require.NoError(t, os.Chmod(filepath.Join(folder, settings.FileName), mode))
			loaded, err := settings.Load(from(nil), from(map[string]string{settings.EnvPath: folder}), everybody)
			require.NoError(t, err)
			require.Equal(t, exposed && readable, loaded.Exposed, "%s %s", text, mode)
		}
	}
}

// Secrets of every source are known to who takes them out of what is shown.
func TestEverySecretIsKnown(t *testing.T) {
	loaded, err := load(t, `{"llm": {"openai_key": "of the file"}}`,
		map[string]string{"OPENAI_API_KEY": "of a flag"}, map[string]string{"OPENAI_API_KEY": "of the environment"})
	require.NoError(t, err)
	require.Equal(t, []string{"of a flag", "of the environment", "of the file"}, loaded.Secrets)
	require.Equal(t, "of a flag", loaded.Reasoning.Service("openai").Key)
}

// Whoever wrote the file of a project cannot name where content and one's own keys
// go, and no folder outside, before a person has accepted it.
func TestAGuardedValueOfTheFileIsNotUsed(t *testing.T) {
	checked := 0
	for _, row := range settings.Table() {
		if !row.Guarded {
			require.NotEqual(t, settings.Address, row.Kind, "%s: an address of the file has to be accepted", row.Key)
			continue
		}
		checked++
		value := "http://evil.example/"
		switch {
		case row.Kind == settings.Folders:
			value = filepath.Dir(t.TempDir())
		case len(row.Allowed) > 0:
			value = row.Allowed[len(row.Allowed)-1]
		case row.Kind == settings.Switch:
			value = "true"
		case row.Kind != settings.Address:
			value = "openai:m"
		}
		text := `{"` + strings.ReplaceAll(row.Key, ".", `": {"`) + `": "` + value + `"` + strings.Repeat("}", 1+strings.Count(row.Key, "."))
		if row.Kind == settings.Switch {
			text = strings.Replace(text, `"true"`, "true", 1)
		}
		folder := project(t, text)
		nobody := trust.Open(t.TempDir(), folder)
		read := func(variables map[string]string) *settings.Loaded {
			variables[settings.EnvPath] = folder
			loaded, err := settings.Load(from(nil), from(variables), func(string, []string, []trust.Part) *trust.Folder { return nobody })
			require.NoError(t, err, text)
			return loaded
		}
		held := func(loaded *settings.Loaded) settings.Value {
			return loaded.Values[slices.IndexFunc(loaded.Values, func(v settings.Value) bool { return v.Setting.Key == row.Key })]
		}
		loaded := read(map[string]string{})
		require.Equal(t, row.Default, held(loaded).Text, row.Key)
		require.Len(t, loaded.Parts, 1, row.Key)
		require.Equal(t, "setting:"+row.Key, loaded.Parts[0].ID())
		if shown := strings.Join(loaded.Parts[0].Shown, "\n"); row.Secret {
			require.NotContains(t, shown, value)
		} else {
			require.Contains(t, shown, value)
		}
		require.ErrorIs(t, nobody.Require(loaded.Parts[0]), fault.TrustRequired)
		require.Equal(t, value, held(read(map[string]string{row.Env: value})).Text, "a variable is the person's own")

		require.NoError(t, nobody.Accept(loaded.Parts...))
		loaded = read(map[string]string{})
		require.Equal(t, value, held(loaded).Text, row.Key)
		require.NoError(t, loaded.Reasoning.Waiting)
		require.NoError(t, os.WriteFile(filepath.Join(folder, settings.FileName), []byte(strings.Replace(text, value, value+"x", 1)), 0o600))
		if len(row.Allowed) == 0 && row.Kind != settings.Switch {
			require.Equal(t, row.Default, held(read(map[string]string{})).Text, "another value is not accepted")
		}
	}
	require.Greater(t, checked, 8)
}

// A model that the person names is not asked while the file says at which address, by which
// provider or with which key, and nobody has accepted that. Whom the file alone names is
// left out, and what it says of others is no matter.
func TestWhoDecidesHasToBeAccepted(t *testing.T) {
	for text, waits := range map[string]bool{
		`{"reasoning": {"api_url": "http://a.example"}}`:                                                                           false,
		`{"llm": {"slm_model": "openai:m"}}`:                                                                                       false,
		`{"llm": {"ollama_host": "http://a.example"}}`:                                                                             false,
		`{"telemetry": {"otlp_endpoint": "http://a.example"}, "git_roots": ["/"], "repos": ["/"]}`:                                 false,
		`{"reasoning": {"api_token": "sekrit-sekrit"}, "agent": {"disable_tools": true}, "git_roots": ["."], "repos": ["config"]}`: false,
	} {
		folder := project(t, text)
		loaded, err := settings.Load(from(nil), from(map[string]string{settings.EnvPath: folder}), nobody(t))
		require.NoError(t, err)
		require.Equal(t, waits, loaded.Reasoning.Waiting != nil, text)
	}
	folder := project(t, `{"llm": {"ollama_host": "http://a.example", "provider": "openai"}, "reasoning": {"api_url": "http://a.example"}}`)
	for waits, variables := range map[string]map[string]string{
		"":             {settings.EnvReasoningURL: "http://mine.example"},
		"llm.provider": {settings.EnvReasoningURL: "", settings.EnvSLM: "qwen3"},
	} {
		variables[settings.EnvPath] = folder
		loaded, err := settings.Load(from(nil), from(variables), nobody(t))
		require.NoError(t, err)
		require.Equal(t, waits == "", loaded.Reasoning.Waiting == nil)
	}
}

// nobody has accepted anything.
func nobody(t *testing.T) settings.Trust {
	return func(path string, _ []string, _ []trust.Part) *trust.Folder { return trust.Open(t.TempDir(), path) }
}

// A folder that is outside only by a link is outside, and where it leads belongs to
// what is accepted.
func TestAFolderOutsideByALink(t *testing.T) {
	outside, other := t.TempDir(), t.TempDir()
	folder := project(t, `{"git_roots": ["inside", "link"]}`)
	link := filepath.Join(folder, "link")
	require.NoError(t, os.Mkdir(filepath.Join(folder, "inside"), 0o700))
	require.NoError(t, os.Symlink(outside, link))
	said := trust.Open(t.TempDir(), folder)
	read := func() *settings.Loaded {
		loaded, err := settings.Load(from(nil), from(map[string]string{settings.EnvPath: folder}), func(string, []string, []trust.Part) *trust.Folder { return said })
		require.NoError(t, err)
		return loaded
	}
	loaded := read()
	require.Equal(t, []string{filepath.Join(folder, "inside")}, loaded.GitRoots)
	require.Contains(t, loaded.Parts[0].Shown[0], filepath.Base(outside))
	require.NoError(t, said.Accept(loaded.Parts...))
	require.Len(t, read().GitRoots, 2)
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(other, link))
	require.Len(t, read().GitRoots, 1, "it leads elsewhere now")
}
