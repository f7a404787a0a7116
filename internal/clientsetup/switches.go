package clientsetup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/configedit"
	"savant/internal/regular"
)

// toggle is a setting of a client that can keep it from running Savant's hooks or
// server.
type toggle struct {
	path []string
	// off reports whether a value does so, and says tells it to a person.
	off  func(value any, there bool) bool
	says string
}

func dotted(path []string) string { return strings.Join(path, ".") }

// switchedBy switches Savant off by a value.
func switchedBy(value any, path ...string) toggle {
	return toggle{path, func(found any, _ bool) bool { return found == value }, fmt.Sprintf("%s = %v", dotted(path), value)}
}

// names switches Savant off by its name in a list: as a text, or in a member of an
// object.
func names(path ...string) toggle {
	return toggle{path, func(found any, _ bool) bool { return slices.ContainsFunc(listOf(found), isSavant) }, `"savant" in ` + dotted(path)}
}

// leavesOut switches Savant off by a list of what is permitted. A list that names
// something by other means than a name may permit it.
func leavesOut(path ...string) toggle {
	return toggle{path, func(found any, _ bool) bool {
		list, there := found.([]any)
		return there && !slices.ContainsFunc(list, func(each any) bool { return isSavant(each) || nameOf(each) == "" })
	}, dotted(path) + ` without "savant"`}
}

// lacks switches Savant off by a file that has no such value.
func lacks(path ...string) toggle {
	return toggle{path, func(_ any, there bool) bool { return !there }, dotted(path) + ", which is missing,"}
}

func isSavant(element any) bool { return nameOf(element) == "savant" }

func nameOf(element any) string {
	switch element := element.(type) {
	case string:
		return element
	case map[string]any:
		name, _ := element["serverName"].(string)
		return name
	}
	return ""
}

// settingsFile is a file in which a client looks for settings.
type settingsFile struct {
	path    string
	format  configedit.Format
	toggles []toggle
	// absent says that a missing file counts as an empty one.
	absent bool
}

// machine is a file that an administrator writes, by operating system.
func (t Target) machine(linux, darwin, windows string) string {
	return t.Root + cmp.Or(map[string]string{"darwin": darwin, "windows": windows}[t.OS], linux)
}

// own is the target of the person's own files.
func (t Target) own() Target {
	t.Project = ""
	return t
}

// folder is a file of the folder that the client is taken to work in.
func (t Target) folder(name ...string) string {
	return filepath.Join(append([]string{cmp.Or(t.Project, t.Folder)}, name...)...)
}

func claudePlaces(t Target) []settingsFile {
	settings := t.own().fileBelow("CLAUDE_CONFIG_DIR", ".claude", "settings.json")
	toggles := []toggle{switchedBy(true, "disableAllHooks"), names("disabledMcpjsonServers"), names("deniedMcpServers")}
	policy := func(name string) string {
		return t.machine("/etc/claude-code/"+name, "/Library/Application Support/ClaudeCode/"+name, `C:\Program Files\ClaudeCode\`+name)
	}
	return []settingsFile{{path: settings, toggles: toggles},
		{path: t.folder(".claude", "settings.json"), toggles: toggles}, {path: t.folder(".claude", "settings.local.json"), toggles: toggles},
		{path: policy("managed-settings.json"), toggles: append(toggles, switchedBy(true, "allowManagedHooksOnly"), leavesOut("allowedMcpServers"))},
		{path: policy("managed-mcp.json"), toggles: []toggle{lacks("mcpServers", "savant")}}}
}

func codexPlaces(t Target) []settingsFile {
	toggles := []toggle{switchedBy(false, "features", "hooks"), switchedBy(false, "features", "codex_hooks"), switchedBy(false, "mcp_servers", "savant", "enabled")}
	own := settingsFile{path: t.own().fileBelow("CODEX_HOME", ".codex", "config.toml"), format: configedit.TOML, toggles: toggles}
	if t.Project != "" { // Codex reads the files of a project that it trusts
		trust := []string{"projects", t.Project, "trust_level"}
		own.absent = true
		own.toggles = append(own.toggles, toggle{trust, func(level any, _ bool) bool { return level != "trusted" }, dotted(trust) + `, which is not "trusted",`})
	}
	return []settingsFile{own, {path: t.folder(".codex", "config.toml"), format: configedit.TOML, toggles: toggles},
		{path: t.machine("/etc/codex/requirements.toml", "/etc/codex/requirements.toml", `C:\ProgramData\OpenAI\Codex\requirements.toml`), format: configedit.TOML,
			toggles: []toggle{switchedBy(false, "features", "hooks"), switchedBy(false, "features", "codex_hooks"), switchedBy(true, "allow_managed_hooks_only")}}}
}

func geminiPlaces(t Target) []settingsFile {
	return geminiLike(t, "gemini", t.machine("/etc/gemini-cli/settings.json", "/Library/Application Support/GeminiCli/settings.json", `C:\ProgramData\gemini-cli\settings.json`),
		[]toggle{switchedBy(false, "hooksConfig", "enabled"), names("hooksConfig", "disabled"), names("mcp", "excluded"), leavesOut("mcp", "allowed")})
}

func qwenPlaces(t Target) []settingsFile {
	return geminiLike(t, "qwen", t.machine("/etc/qwen-code/settings.json", "/Library/Application Support/QwenCode/settings.json", `C:\ProgramData\qwen-code\settings.json`),
		[]toggle{switchedBy(true, "disableAllHooks"), names("mcp", "excluded"), leavesOut("mcp", "allowed")})
}

// geminiLike is Gemini CLI, and a client made from it. Neither reads the settings of a
// folder that a person does not trust; folders below a trusted one are trusted, too.
func geminiLike(t Target, name, machine string, toggles []toggle) []settingsFile {
	places := []settingsFile{{path: t.own().in("."+name, "settings.json"), toggles: toggles}, {path: t.folder("."+name, "settings.json"), toggles: toggles}, {path: machine, toggles: toggles}}
	if t.Project != "" {
		places = append(places, settingsFile{path: t.own().in("."+name, "trustedFolders.json"), toggles: []toggle{{nil, func(folders any, _ bool) bool { return distrusts(folders, t.Project) }, "the person's distrust of " + t.Project}}})
	}
	return places
}

// distrusts reports whether the nearest folder with a decision is not trusted.
func distrusts(folders any, at string) bool {
	decided, _ := folders.(map[string]any)
	for {
		switch decided[at] {
		case "DO_NOT_TRUST":
			return true
		case "TRUST_FOLDER", "TRUST_PARENT":
			return false
		}
		above := filepath.Dir(at)
		if above == at {
			return false
		}
		at = above
	}
}

func opencodePlaces(t Target) []settingsFile {
	toggles := []toggle{switchedBy(false, "mcp", "savant", "enabled"), switchedBy(false, "tools", "savant*"), switchedBy(false, "tools", "savant_*")}
	folder := t.own().fileBelow("XDG_CONFIG_HOME", ".config", "opencode")
	return []settingsFile{{path: filepath.Join(folder, "opencode.json"), toggles: toggles}, {path: filepath.Join(folder, "opencode.jsonc"), toggles: toggles},
		{path: t.folder("opencode.json"), toggles: toggles}, {path: t.folder("opencode.jsonc"), toggles: toggles}}
}

func vscodePlaces(t Target) []settingsFile {
	files := "~/.copilot/hooks"
	if t.Project != "" {
		files = ".github/hooks"
	}
	toggles := []toggle{switchedBy(false, "chat.useChatHooks"), switchedBy(false, "chat.hookFilesLocations", files), switchedBy("none", "chat.mcp.access")}
	return []settingsFile{{path: t.own().application("Code", "User", "settings.json"), toggles: toggles}, {path: t.folder(".vscode", "settings.json"), toggles: toggles}}
}

func copilotPlaces(t Target) []settingsFile {
	toggles := []toggle{switchedBy(true, "disableAllHooks")}
	return []settingsFile{{path: t.own().in(".copilot", "settings.json"), toggles: toggles}, {path: t.own().in(".copilot", "config.json"), toggles: toggles}}
}

// Off is a setting that a person has to change, because setup leaves it alone.
type Off struct{ Path, Setting string }

// Off returns the settings that switch Savant off: the person's, the project's that the
// client works in, and the administrator's, as all of them count. A file that cannot be
// read is left out, and is an error of the list, with the codes of Setup.
func (c Client) Off(t Target) (found []Off, unread []error) {
	if c.places == nil {
		return nil, nil
	}
	for _, file := range c.places(t) {
		limit := int64(maxOwn)
		if filepath.IsLocal(regular.Relative(t.folder(), file.path)) {
			limit = maxInProject
		}
		content, err := text(file.path, limit)
		if errors.Is(err, fs.ErrNotExist) && !file.absent {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unread = append(unread, refused(file.path, fault.New(fault.InvalidParams, "%w", err)))
			continue
		}
		for _, each := range file.toggles {
			value, there, err := configedit.Get(content, file.format, each.path)
			if err != nil {
				unread = append(unread, refused(file.path, err))
				break
			}
			if off := (Off{file.path, each.says}); each.off(value, there) && !slices.Contains(found, off) {
				found = append(found, off)
			}
		}
	}
	return found, unread
}
