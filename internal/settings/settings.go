// Package settings is the table of what a person can set: one row each. A
// value comes from its flag, else from the environment, else from the file
// config/settings.json, else from the row.
package settings

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Setting is one row of the table.
type Setting struct {
	// Flag is the long flag of the command line, without dashes, or empty: --set KEY=VALUE
	// sets every row. Env is the environment variable, or empty; Key is the place in the
	// file of settings, where a point separates nested objects.
	Flag, Env, Key string
	// FormerEnv is a variable of the same meaning that scripts use; Env goes first.
	FormerEnv string
	// Kind is the type of the value in JSON. Min and Max bound a Number.
	Kind     Kind
	Min, Max int
	// Default is used if no source has a value.
	Default string
	// Allowed are the permitted values; empty permits any.
	Allowed []string
	// Doc is a one-line description.
	Doc string
	// Secret values are never shown, not in errors or logs either. SentTo is the Key of
	// the address that the secret is sent to, if there is one.
	Secret bool
	SentTo string
	// NotInFile says why the file cannot contain the setting; empty: it can.
	NotInFile string
	// Guarded: a value of the file is used only after a person accepted it, since
	// somebody else may have written the file. For folders this concerns only those
	// outside SAVANT_PATH.
	Guarded bool
	// PerFolder: over HTTP the file of a folder that a token is bound to may set it, too.
	PerFolder bool

	// needs describes the expected value of a setting that must not be empty.
	needs string
	// field returns a pointer to the field that the setting fills.
	field func(*Settings) any
	// normal rewrites a value into its usual form; nil keeps it.
	normal func(string) string
}

// Kind is the type of a value. Every type has a text form, which flags and variables
// use.
type Kind int

const (
	// Text is any text.
	Text Kind = iota
	// Number is an integer.
	Number
	// Switch is true or false.
	Switch
	// List is texts separated by commas; in JSON a text or a list of texts.
	List
	// Folders are separated as in PATH; in JSON a list, or a text for one
	// folder, and relative to SAVANT_PATH.
	Folders
	// Address is a URL. Its user, password and query are not shown, since they may be
	// secret.
	Address
	// PriceList is a JSON object with the prices of models.
	PriceList
)

// Settings are the validated values in their own types.
type Settings struct {
	// Services are the engines to publish, in the given order without duplicates; "all"
	// means every engine. Given reports that a flag or variable names them: then the
	// program was started as a server.
	Services []string
	Given    bool
	// Path is SAVANT_PATH: the folder of workflows, state and logs.
	Path string
	// LogLevel is the lowest level that is logged.
	LogLevel slog.Level
	// SlowCall is the duration above which a call is logged as slow; negative
	// is never.
	SlowCall time.Duration
	// Enforce says whether a run may be planned by a session without hooks: off or
	// required.
	Enforce string
	// GitRoots are folders that git.* may read in addition to Path.
	GitRoots []string
	// Untrusted are further GitRoots outside Path, from the file, that nobody accepted,
	// with the reason.
	Untrusted map[string]error
	// Repos are folders that context.* reads in addition to Path.
	Repos []string
	// ShownFiles are patterns of files that models may see although their names suggest
	// secrets.
	ShownFiles []string
	// Trust are digests of all parts of a folder: if one of them matches, all parts are
	// accepted.
	Trust []string
	// Reasoning is who decides what an agent does, Agent what it may do.
	Reasoning Reasoning
	Agent     Agent
	// Store is where runs are kept: StoreFile or StoreMongo.
	Store string
	// Mongo is the database that several machines share.
	Mongo Mongo
	// Telemetry is where traces go.
	Telemetry Telemetry
	// HTTP is how MCP is served over HTTP.
	HTTP HTTP
	// Hub is what the hub tells others.
	Hub Hub
}

// All is the value of MCP_SERVICE that stands for every engine.
const All = "all"

// Names of the variables that other parts of the program name in messages or
// set for a child process.
const (
	EnvServices   = "MCP_SERVICE"
	EnvPath       = "SAVANT_PATH"
	EnvLogLevel   = "LOG_LEVEL"
	EnvSlow       = "SLOW_THRESHOLD_MS"
	EnvEnforce    = "SAVANT_ENFORCE"
	EnvGitRoots   = "SAVANT_GIT_ROOTS"
	EnvRepos      = "SAVANT_REPOS"
	EnvShownFiles = "SAVANT_SHOWN_FILES"
	EnvTrust      = "SAVANT_TRUST"
)

// Table returns every setting there is. The published schema is made from it:
// go test ./internal/settings -update.
func Table() []Setting {
	return slices.Concat(generalRows(), reasoningRows(), modelRows(), agentRows(), telemetryRows(), mongoRows(), httpRows(), hubRows())
}

func generalRows() []Setting {
	return []Setting{
		{Flag: "service", Env: EnvServices, Key: "mcp_service", Kind: List, PerFolder: true, Default: All,
			Doc: "engines to publish over MCP: a name, a comma list or all", needs: "an engine's name, a comma list or all", field: func(s *Settings) any { return &s.Services }},
		{Flag: "path", Env: EnvPath, Key: "savant_path", Default: "./", NotInFile: "is where this file is found",
			Doc: "folder with workflows/, schemas/, config/, .savant/ and logs/; by default the nearest one, from here upward, with .savant, workflows/ or .git", needs: "a folder", field: func(s *Settings) any { return &s.Path }},
		{Flag: "log-level", Env: EnvLogLevel, Key: "telemetry.log_level", Default: "info",
			Allowed: []string{"debug", "info", "warn", "error"},
			Doc:     "lowest level that is logged", field: func(s *Settings) any { return &s.LogLevel }},
		{Env: EnvSlow, Key: "telemetry.slow_threshold_ms", Kind: Number, Max: maxWait, Default: "1000",
			Doc: "milliseconds above which a call is logged as slow; 0 is never", field: func(s *Settings) any { return &s.SlowCall }},
		{Env: EnvEnforce, Key: "enforce", Default: "off", PerFolder: true,
			Allowed: []string{"off", "required"},
			Doc:     "required: think.plan and think.next are refused unless the client's hooks hold the session to the run", field: func(s *Settings) any { return &s.Enforce }},
		{Flag: "git-roots", Env: EnvGitRoots, Key: "git_roots", Kind: Folders, Guarded: true, PerFolder: true,
			Doc: "folders git.* may read beside SAVANT_PATH, separated as in PATH", field: func(s *Settings) any { return &s.GitRoots }},
		{Flag: "repos", Env: EnvRepos, Key: "repos", Kind: Folders, Guarded: true, PerFolder: true,
			Doc: "repositories context.* reads beside SAVANT_PATH, separated as in PATH", field: func(s *Settings) any { return &s.Repos }},
		{Env: EnvShownFiles, Key: "shown_files", Kind: List, NotInFile: "decides what models may read of this project",
			Doc: "patterns of files that models may read although their names suggest secrets", field: func(s *Settings) any { return &s.ShownFiles }},
		{Env: EnvTrust, Key: "trust", Kind: List, NotInFile: "decides whether the parts of this folder are used",
			Doc: "digest of the folder's parts, as savant trust prints it: they are accepted without a question, for CI", field: func(s *Settings) any { return &s.Trust }},
	}
}

// Error is a value that a setting cannot have.
type Error struct {
	// Setting is the variable, or the key of a row without one; Value what was given
	// (empty when secret), Expected what is allowed.
	Setting, Value, Expected string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: expected %s, got %q", e.Setting, e.Expected, e.Value)
}

// check fills the field of a setting; the error is an *Error.
func (s Setting) check(into *Settings, value string) error {
	expected := s.assign(into, value)
	if expected == "" {
		return nil
	}
	if s.Secret {
		value = ""
	}
	return &Error{Setting: cmp.Or(s.Env, s.Key), Value: value, Expected: expected}
}
