package clientsetup

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"

	"savant/internal/configedit"
	"savant/think/gate/clients"
)

// table returns the clients. Paths and formats follow their documentation; the first
// six were tested with the real programs.
func table() []Client {
	return []Client{
		{Name: "claude-code", Title: "Claude Code", Hooks: true, home: []string{".claude", ".claude.json"}, files: claude, projects: true, places: claudePlaces, skills: func(t Target) string { return t.fileBelow("CLAUDE_CONFIG_DIR", ".claude", "skills") },
			Notes: []string{"VS Code and Cursor read the hooks of Claude Code, too: do not set up both for the same project.",
				"Hooks are read when Claude Code starts: restart it."}},
		{Name: "codex", Title: "Codex", Hooks: true, home: []string{".codex"}, files: codex, projects: true, places: codexPlaces, skills: skillsIn(".agents", ".agents"),
			Notes: []string{"Codex runs only trusted hooks: answer yes to its question at the start, or use /hooks."}},
		{Name: "gemini-cli", Title: "Gemini CLI", Hooks: true, home: []string{".gemini"}, files: gemini, projects: true, places: geminiPlaces, skills: skillsIn(".gemini", ".gemini")},
		{Name: "qwen-code", Title: "Qwen Code", Hooks: true, home: []string{".qwen"}, files: qwen, projects: true, places: qwenPlaces},
		{Name: "opencode", Title: "opencode", Hooks: true, home: []string{".config/opencode", ".local/share/opencode"}, files: opencode, projects: true, places: opencodePlaces},
		{Name: "cline", Title: "Cline", Hooks: true, home: []string{".cline"}, files: cline,
			Notes: []string{"Cline has no hook at the end of a turn, so Savant cannot stop a turn from ending early."},
			Limits: []string{"Cline ignores a plugin that does not load within four seconds; then nothing is enforced. CLINE_PLUGIN_IMPORT_TIMEOUT_MS=60000 " +
				"gives it more time; enforce: required in a workflow refuses to plan without it."}},
		{Name: "claude-desktop", Title: "Claude Desktop", files: desktop, home: []string{".config/Claude", "Library/Application Support/Claude", "AppData/Roaming/Claude"},
			Notes: []string{"Claude Desktop has no hooks: nothing is enforced there."}},
		{Name: "cursor", Title: "Cursor", Hooks: true, home: []string{".cursor"}, files: cursor, projects: true,
			Notes: []string{"Cursor reads the hooks of Claude Code, too: with both set up each call is asked about twice."}},
		{Name: "vscode", Title: "VS Code", Hooks: true, home: []string{".config/Code", "Library/Application Support/Code", "AppData/Roaming/Code"}, files: vscode, projects: true, places: vscodePlaces, skills: skillsIn(".copilot", ".github"),
			Notes: []string{"VS Code reads the hooks of Claude Code, too: with both set up each call is asked about twice."}},
		{Name: "copilot-cli", Title: "Copilot CLI", Hooks: true, home: []string{".copilot"}, files: copilot, places: copilotPlaces, skills: skillsIn(".copilot", ".github")},
		{Name: "windsurf", Title: "Windsurf", Hooks: true, home: []string{".codeium/windsurf"}, files: windsurf,
			Notes: []string{"Windsurf has no hook at the end of a turn, so Savant cannot stop a turn from ending early."}},
		{Name: "kiro", Title: "Kiro", Hooks: true, home: []string{".kiro"}, files: kiro, projects: true,
			Notes: []string{"Kiro has no hook that can stop a turn from ending, and sends no session id: all its conversations in a folder count as one."}},
	}
}

// skillsIn is the folder skills of one in the home folder, and of one in a project.
func skillsIn(home, project string) func(Target) string {
	return func(t Target) string {
		if t.Project != "" {
			return t.in(project, "skills")
		}
		return t.in(home, "skills")
	}
}

// fileBelow is a file in a folder of the project, or of the person's home, where an
// environment variable may name another one.
func (t Target) fileBelow(variable, folder string, name ...string) string {
	base := t.in(folder)
	if named, ok := t.Variable(variable); ok && named != "" && t.Project == "" {
		base = named
	}
	return filepath.Join(append([]string{base}, name...)...)
}

func (t Target) in(name ...string) string {
	return filepath.Join(append([]string{cmp.Or(t.Project, t.Home)}, name...)...)
}

// workingFolder is SAVANT_PATH for a server that starts in the folder of a project.
func (t Target) workingFolder() string {
	if t.Project != "" {
		return "."
	}
	return ""
}

type object = map[string]any

// matcherHook is a hook with a matcher, in the form of Claude Code.
func matcherHook(matcher string, hook object) object {
	group := object{"hooks": []any{hook}}
	if matcher != "" {
		group["matcher"] = matcher
	}
	return group
}

const (
	everyTool = "*"
	seconds   = 10 // the hook answers within two, with a database within eight
)

// claudeHooks start the program. onFailure refuses the call if it fails; where it is gone,
// the line answers by itself.
func claudeHooks(t Target) []configedit.Entry {
	hook := func(event string, more object) object {
		made := object{"type": "command", "command": "sh", "args": []string{"-c", t.HookLine("claude-code", event)}, "timeout": seconds}
		if t.OS == "windows" {
			made["command"], made["args"] = t.Program, []string{"hook", "claude-code"}
		}
		maps.Copy(made, more)
		return made
	}
	return t.hookEntries("claude-code", object{
		"PreToolUse":         matcherHook(everyTool, hook("PreToolUse", object{"onFailure": "block"})),
		"PostToolUse":        matcherHook(everyTool, hook("PostToolUse", nil)),
		"PostToolUseFailure": matcherHook(everyTool, hook("PostToolUseFailure", nil)),
		"Stop":               matcherHook("", hook("Stop", nil))}, "hooks")
}

func claude(t Target) []wantedFile {
	servers, settings := t.fileBelow("CLAUDE_CONFIG_DIR", "", ".claude.json"), t.fileBelow("CLAUDE_CONFIG_DIR", ".claude", "settings.json")
	if t.Project != "" {
		servers = t.in(".mcp.json")
	}
	return []wantedFile{{path: servers, entries: entry(t.server("stdio", t.workingFolder()), "mcpServers", "savant")}, {path: settings, entries: claudeHooks(t)}}
}

// lineHooks are hooks in the form of Claude Code with a shell command.
func lineHooks(t Target, client string, limit int, events map[string]string) []configedit.Entry {
	made := object{}
	for event, matcher := range events {
		made[event] = matcherHook(matcher, object{"name": "savant", "type": "command", "command": t.HookLine(client, event), "timeout": limit})
	}
	return t.hookEntries(client, made, "hooks")
}

var claudeEvents = map[string]string{"PreToolUse": everyTool, "PostToolUse": everyTool, "Stop": ""}

// codexTable is the server for Codex, which passes few environment variables on.
func codexTable(t Target) []configedit.Entry {
	return entry(configedit.Table{{Key: "command", Value: t.Program}, {Key: "args", Value: []string{"mcp"}}, {Key: "env", Value: t.environment("")}}, "mcp_servers", "savant")
}

// codexHooks have no name, a key that Codex does not support.
func codexHooks(t Target) []configedit.Entry {
	made := object{}
	for event, matcher := range claudeEvents {
		made[event] = matcherHook(matcher, object{"type": "command", "command": t.HookLine("codex", event), "timeout": seconds})
	}
	return t.hookEntries("codex", made, "hooks")
}

func codex(t Target) []wantedFile {
	return []wantedFile{{path: t.fileBelow("CODEX_HOME", ".codex", "config.toml"), format: configedit.TOML, entries: codexTable(t)},
		{path: t.fileBelow("CODEX_HOME", ".codex", "hooks.json"), entries: codexHooks(t)}}
}

// gemini is configured with timeouts in milliseconds.
func gemini(t Target) []wantedFile {
	entries := append(entry(t.server("", t.workingFolder()), "mcpServers", "savant"),
		lineHooks(t, "gemini-cli", seconds*1000, map[string]string{"BeforeTool": ".*", "AfterTool": ".*", "AfterAgent": ""})...)
	return []wantedFile{{path: t.in(".gemini", "settings.json"), entries: entries}}
}

func qwen(t Target) []wantedFile {
	entries := append(entry(t.server("", t.workingFolder()), "mcpServers", "savant"), lineHooks(t, "qwen-code", seconds*1000, claudeEvents)...)
	return []wantedFile{{path: t.in(".qwen", "settings.json"), entries: entries}}
}

// plugin is the file that a client loads instead of hooks.
func plugin(t Target, client, path string) wantedFile {
	text, err := clients.Plugin(client, []string{t.Program, "hook", client})
	if err != nil { // the clients of this table that call it have one: a test reads each
		panic(err)
	}
	return wantedFile{path: path, whole: text, client: client}
}

type opencodeServer struct {
	Type        string            `json:"type"`
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment"`
	Enabled     bool              `json:"enabled"`
}

func opencode(t Target) []wantedFile {
	folder := t.fileBelow("XDG_CONFIG_HOME", ".config", "opencode")
	plugins := folder
	if t.Project != "" {
		folder, plugins = t.Project, t.in(".opencode")
	}
	made := opencodeServer{"local", []string{t.Program, "mcp"}, t.environment(""), true}
	file := existing(filepath.Join(folder, "opencode.json"), filepath.Join(folder, "opencode.jsonc"))
	return []wantedFile{{path: file, entries: entry(made, "mcp", "savant")}, plugin(t, "opencode", filepath.Join(plugins, "plugin", "savant.js"))}
}

type clineServer struct {
	Transport server `json:"transport"`
}

func cline(t Target) []wantedFile {
	return []wantedFile{{path: t.in(".cline", "data", "settings", "cline_mcp_settings.json"), entries: entry(clineServer{t.server("stdio", "")}, "mcpServers", "savant")},
		plugin(t, "cline", t.in(".cline", "plugins", "savant.js"))}
}

// application is the operating system's folder for application data.
func (t Target) application(name ...string) string {
	switch t.OS {
	case "darwin":
		return t.in(append([]string{"Library", "Application Support"}, name...)...)
	case "windows":
		return t.fileBelow("APPDATA", filepath.Join("AppData", "Roaming"), name...)
	}
	return t.fileBelow("XDG_CONFIG_HOME", ".config", name...)
}

func desktop(t Target) []wantedFile {
	return []wantedFile{{path: t.application("Claude", "claude_desktop_config.json"), entries: entry(t.server("", t.Folder), "mcpServers", "savant")}}
}

func cursor(t Target) []wantedFile {
	hook := object{"command": t.HookLine("cursor", "postToolUse"), "timeout": seconds}
	closed := object{"command": t.HookLine("cursor", "preToolUse"), "timeout": seconds, "failClosed": true}
	hooks := append([]configedit.Entry{{Path: []string{"version"}, Value: 1, Keep: true}}, t.hookEntries("cursor", object{"preToolUse": closed, "postToolUse": hook, "stop": object{"command": t.HookLine("cursor", "stop"), "timeout": seconds, "loop_limit": 20}}, "hooks")...)
	return []wantedFile{{path: t.in(".cursor", "mcp.json"), entries: entry(t.server("", "${workspaceFolder}"), "mcpServers", "savant")},
		{path: t.in(".cursor", "hooks.json"), entries: hooks}}
}

// hookFile is a file of hooks owned by Savant.
func hookFile(client, path string, content any) wantedFile {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil { // maps and strings can always be encoded
		panic(err)
	}
	return wantedFile{path: path, whole: string(text) + "\n", client: client}
}

func flatHooks(t Target, client string, events []string) object {
	byEvent := object{}
	for _, event := range events {
		byEvent[event] = []any{object{"type": "command", "command": t.HookLine(client, event), "timeout": seconds}}
	}
	return object{"hooks": byEvent}
}

func vscode(t Target) []wantedFile {
	file, hooks := t.in(".vscode", "mcp.json"), t.in(".github", "hooks", "savant.json")
	if t.Project == "" {
		file, hooks = t.application("Code", "User", "mcp.json"), t.in(".copilot", "hooks", "savant.json")
	}
	return []wantedFile{{path: file, entries: entry(t.server("stdio", "${workspaceFolder}"), "servers", "savant")},
		hookFile("vscode", hooks, flatHooks(t, "vscode", []string{"PreToolUse", "PostToolUse", "Stop"}))}
}

// copilot names the event in the command, because Copilot's events do not say it.
func copilot(t Target) []wantedFile {
	byEvent := object{}
	for _, event := range []string{"preToolUse", "postToolUse", "agentStop"} {
		byEvent[event] = []any{object{"type": "command", "bash": t.HookLine("copilot-cli", event, "--event", event), "timeoutSec": seconds}}
	}
	made := t.server("local", "")
	made.Tools = []string{"*"}
	return []wantedFile{{path: t.in(".copilot", "mcp-config.json"), entries: entry(made, "mcpServers", "savant")},
		hookFile("copilot-cli", t.in(".copilot", "hooks", "savant-copilot-cli.json"), object{"version": 1, "hooks": byEvent})}
}

func windsurf(t Target) []wantedFile {
	byEvent := object{}
	for _, event := range []string{"pre_run_command", "pre_write_code", "pre_read_code", "pre_mcp_tool_use", "post_mcp_tool_use"} {
		byEvent[event] = object{"command": t.HookLine("windsurf", event), "show_output": true}
	}
	return []wantedFile{{path: t.in(".codeium", "windsurf", "mcp_config.json"), entries: entry(t.server("", t.Folder), "mcpServers", "savant")},
		{path: t.in(".codeium", "windsurf", "hooks.json"), entries: t.hookEntries("windsurf", byEvent, "hooks")}}
}

func kiro(t Target) []wantedFile {
	var hooks []any
	for _, event := range []string{"PreToolUse", "PostToolUse"} {
		hooks = append(hooks, object{"name": "savant " + event, "trigger": event, "matcher": ".*",
			"action": object{"type": "command", "command": t.HookLine("kiro", event)}, "timeout": seconds, "enabled": true})
	}
	return []wantedFile{{path: t.in(".kiro", "settings", "mcp.json"), entries: entry(t.server("", ""), "mcpServers", "savant")},
		hookFile("kiro", t.in(".kiro", "hooks", "savant.json"), object{"version": "v1", "hooks": hooks})}
}
