// Package settings is the table of what a person can set: one row each. A
// value comes from its flag, else from the environment, else from the row.
package settings

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Setting is one row of the table.
type Setting struct {
	// Flag is the long flag of the command line, without dashes; Env the
	// environment variable; Key the name that a JSON file of settings will use.
	Flag, Env, Key string
	// Default is used where neither flag nor variable has a value.
	Default string
	// Allowed are the only values there are; empty where any is possible.
	Allowed []string
	// Doc is one line for a person.
	Doc string
	// Secret values are never shown, in errors and logs neither.
	Secret bool

	set func(*Settings, string) error
}

// Settings are the values, checked and in their own types.
type Settings struct {
	// Services are the engines to publish, in the order given, each once;
	// "all" stands for every engine there is. Given says whether they were
	// set, not defaulted.
	Services []string
	Given    bool
	// Path is SAVANT_PATH: the folder of workflows, state and logs.
	Path string
	// LogLevel is the lowest level that is logged.
	LogLevel slog.Level
	// SlowCall is the duration above which a call is logged as slow; negative
	// is never.
	SlowCall time.Duration
	// ToolNames is how names of tools are listed: auto, underscore or dotted.
	ToolNames string
	// GitRoots are folders that git.* may read beside Path.
	GitRoots []string
	// Repos are folders that context.* reads beside Path.
	Repos []string
	// Reasoning is who decides what an agent does, Agent what it may do.
	Reasoning Reasoning
	Agent     Agent
}

// All is the value of MCP_SERVICE that stands for every engine.
const All = "all"

// Names of the variables that other parts of the program name in messages or
// set for a child process.
const (
	EnvServices  = "MCP_SERVICE"
	EnvPath      = "SAVANT_PATH"
	EnvLogLevel  = "LOG_LEVEL"
	EnvSlow      = "SLOW_THRESHOLD_MS"
	EnvToolNames = "SAVANT_TOOL_NAMES"
	EnvGitRoots  = "SAVANT_GIT_ROOTS"
	EnvRepos     = "SAVANT_REPOS"
)

// Table returns every setting there is.
func Table() []Setting {
	return append([]Setting{
		{Flag: "service", Env: EnvServices, Key: "mcp_service", Default: All,
			Doc: "engines to publish over MCP: a name, a comma list or all", set: setServices},
		{Flag: "path", Env: EnvPath, Key: "savant_path", Default: "./",
			Doc: "folder of workflows/, schemas/, .savant/ and logs/", set: setPath},
		{Flag: "log-level", Env: EnvLogLevel, Key: "log_level", Default: "info",
			Allowed: []string{"debug", "info", "warn", "error"},
			Doc:     "lowest level that is logged", set: setLogLevel},
		{Flag: "slow-threshold-ms", Env: EnvSlow, Key: "slow_threshold_ms", Default: "1000",
			Doc: "milliseconds above which a call is logged as slow; 0 is never", set: setSlowCall},
		{Flag: "tool-names", Env: EnvToolNames, Key: "tool_names", Default: "auto",
			Allowed: []string{"auto", "underscore", "dotted"},
			Doc:     "how names of tools are listed", set: setToolNames},
		{Flag: "git-roots", Env: EnvGitRoots, Key: "git_roots", Default: "",
			Doc: "folders git.* may read beside SAVANT_PATH, separated as in PATH", set: setGitRoots},
		{Flag: "repos", Env: EnvRepos, Key: "savant_repos", Default: "",
			Doc: "repositories context.* reads beside SAVANT_PATH, separated as in PATH", set: setRepos},
	}, append(reasoningRows(), agentRows()...)...)
}

// Error is a value that a setting cannot have.
type Error struct {
	// Setting is the variable, Value what was given (empty when secret),
	// Expected what is allowed.
	Setting, Value, Expected string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: expected %s, got %q", e.Setting, e.Expected, e.Value)
}

// Load reads the table from two sources, the first before the second. Each
// returns the value of a row, and false where it has none; an empty variable
// counts as none, since clients pass those on. The error is an *Error.
func Load(flag, env func(Setting) (string, bool)) (Settings, error) {
	var loaded Settings
	for _, row := range Table() {
		value, ok := flag(row)
		if !ok {
			value, ok = env(row)
			ok = ok && value != ""
		}
		if !ok {
			value = row.Default
		}
		if row.Env == EnvServices {
			loaded.Given = ok
		}
		if err := row.check(&loaded, value); err != nil {
			return Settings{}, err
		}
	}
	return loaded, nil
}

func (s Setting) check(into *Settings, value string) error {
	expected := "one of " + strings.Join(s.Allowed, ", ")
	if len(s.Allowed) == 0 || slices.Contains(s.Allowed, value) {
		err := s.set(into, value)
		if err == nil {
			return nil
		}
		expected = err.Error()
	}
	if s.Secret {
		value = ""
	}
	return &Error{Setting: s.Env, Value: value, Expected: expected}
}
