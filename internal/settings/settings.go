// Package settings is the table of what a person can set: one row each. A
// value comes from its flag, else from the environment, else from the file
// config/settings.json, else from the row.
package settings

import (
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Setting is one row of the table.
type Setting struct {
	// Flag is the long flag of the command line, without dashes; Env the
	// environment variable; Key the place in the file of settings: a point
	// stands for a nested object.
	Flag, Env, Key string
	// Kind is what a value is in JSON. Min and Max bound a Number.
	Kind     Kind
	Min, Max int
	// Default is used where no source has a value.
	Default string
	// Allowed are the only values there are; empty where any is possible.
	Allowed []string
	// Doc is one line for a person.
	Doc string
	// Secret values are never shown, in errors and logs neither. SentTo is the
	// Key of the address that a secret is sent to, where there is one.
	Secret bool
	SentTo string
	// NotInFile says why the file cannot hold the setting; empty: it can.
	NotInFile string
	// OtherEnv and OtherKey are other names of the variable and the key; empty for
	// none. What has the first name comes before what has the other.
	OtherEnv, OtherKey string
	// OtherFlag is another name of the flag; empty for none.
	OtherFlag string
	// Guarded: a value of the file holds only once a person accepted it, since
	// the file may be somebody else's. Of folders only those outside are meant.
	Guarded bool

	// needs says what is expected of a value that may not be empty.
	needs string
	// field returns a pointer to the field that the setting fills.
	field func(*Settings) any
	// normal rewrites a value as every reader of it expects; nil keeps it.
	normal func(string) string
}

// Kind is the type of a value. All of them have a text, which is what flags
// and variables hold.
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
	// Address is a URL: it may hold what is not for everybody, so its user,
	// password and query are not shown.
	Address
	// PriceList is a JSON object: what each model costs.
	PriceList
)

// Settings are the values, checked and in their own types.
type Settings struct {
	// Services are the engines to publish, in the order given, each once;
	// "all" stands for every engine there is. Given says whether a flag or
	// variable has them: whoever started the program then asked for a server.
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
	// Enforce says whether a run may be planned by a session without hooks: off or
	// required.
	Enforce string
	// GitRoots are folders that git.* may read beside Path.
	GitRoots []string
	// Untrusted are further GitRoots outside Path that the file names and nobody accepted,
	// with the reason.
	Untrusted map[string]error
	// Repos are folders that context.* reads beside Path.
	Repos []string
	// ShownFiles are patterns of files that models may see, though their names say
	// that they hold secrets.
	ShownFiles []string
	// TrustedHosts are hosts that the file may name: an address there holds
	// without being accepted. Trust are digests of all that a folder brings: it
	// is accepted as a whole where one of them fits.
	TrustedHosts []string
	Trust        []string
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
	// Hub is the web page.
	Hub Hub
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
	EnvEnforce   = "SAVANT_ENFORCE"
	EnvGitRoots  = "SAVANT_GIT_ROOTS"
	EnvRepos     = "SAVANT_REPOS"

	EnvTrustedHosts = "SAVANT_TRUSTED_HOSTS"
	EnvShownFiles   = "SAVANT_SHOWN_FILES"
	EnvTrust        = "SAVANT_TRUST"
)

// Table returns every setting there is. The published schema is made from it:
// go test ./internal/settings -update.
func Table() []Setting {
	return slices.Concat(generalRows(), reasoningRows(), modelRows(), agentRows(), telemetryRows(), mongoRows(), httpRows(), hubRows())
}

func generalRows() []Setting {
	return []Setting{
		{Flag: "service", Env: EnvServices, Key: "mcp_service", Kind: List, Default: All,
			Doc: "engines to publish over MCP: a name, a comma list or all", needs: "an engine's name, a comma list or all", field: func(s *Settings) any { return &s.Services }},
		{Flag: "path", Env: EnvPath, Key: "savant_path", Default: "./", NotInFile: "is where this file is found",
			Doc: "folder with workflows/, schemas/, config/, .savant/ and logs/; by default the nearest one, from here upward, with .savant, workflows/ or .git", needs: "a folder", field: func(s *Settings) any { return &s.Path }},
		{Flag: "log-level", Env: EnvLogLevel, Key: "telemetry.log_level", Default: "info",
			Allowed: []string{"debug", "info", "warn", "error"},
			Doc:     "lowest level that is logged", field: func(s *Settings) any { return &s.LogLevel }},
		{Flag: "slow-threshold-ms", Env: EnvSlow, Key: "telemetry.slow_threshold_ms", Kind: Number, Max: maxWait, Default: "1000",
			Doc: "milliseconds above which a call is logged as slow; 0 is never", field: func(s *Settings) any { return &s.SlowCall }},
		{Flag: "tool-names", Env: EnvToolNames, Key: "tool_names", Default: "auto",
			Allowed: []string{"auto", "underscore", "dotted"},
			Doc:     "how names of tools are listed", field: func(s *Settings) any { return &s.ToolNames }},
		{Flag: "enforce", Env: EnvEnforce, Key: "enforce", Default: "off",
			Allowed: []string{"off", "required"},
			Doc:     "required: think.plan and think.next are refused unless the client's hooks hold the session to the run", field: func(s *Settings) any { return &s.Enforce }},
		{Flag: "git-roots", Env: EnvGitRoots, Key: "git_roots", Kind: Folders, Guarded: true,
			Doc: "folders git.* may read beside SAVANT_PATH, separated as in PATH", field: func(s *Settings) any { return &s.GitRoots }},
		{Flag: "repos", Env: EnvRepos, Key: "repos", Kind: Folders, Guarded: true,
			Doc: "repositories context.* reads beside SAVANT_PATH, separated as in PATH", field: func(s *Settings) any { return &s.Repos }},
		{Flag: "shown-files", Env: EnvShownFiles, Key: "shown_files", Kind: List, NotInFile: "decides what models may read of this project",
			Doc: "patterns of files that models may read although their names suggest secrets", field: func(s *Settings) any { return &s.ShownFiles }},
		{Flag: "trusted-hosts", Env: EnvTrustedHosts, Key: "trusted_hosts", Kind: List, NotInFile: "says which hosts this file may name",
			Doc: "hosts that addresses in the file may name without savant trust", field: func(s *Settings) any { return &s.TrustedHosts }},
		{Flag: "trust", Env: EnvTrust, Key: "trust", Kind: List, NotInFile: "decides whether the parts of this folder are used",
			Doc: "digest of the folder's parts, as savant trust prints it: they are accepted without a question, for CI", field: func(s *Settings) any { return &s.Trust }},
	}
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

// check fills the field of a setting; the error is an *Error.
func (s Setting) check(into *Settings, value string) error {
	expected := s.assign(into, value)
	if expected == "" {
		return nil
	}
	if s.Secret {
		value = ""
	}
	return &Error{Setting: s.Env, Value: value, Expected: expected}
}
