package clientsetup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/clientsetup"
)

// TestSwitchesOfTheClients holds the settings by which each client runs no hook or
// server of Savant. ~ is the home folder, . the folder worked in, and / the machine's.
func TestSwitchesOfTheClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client, file, text, says string
		project                  bool
	}{
		{"claude-code", "~/.claude/settings.json", `{"disableAllHooks": true}`, "disableAllHooks = true", false},
		{"claude-code", "./.claude/settings.json", `{"disableAllHooks": true}`, "disableAllHooks = true", false},
		{"claude-code", "./.claude/settings.local.json", "// mine\n" + `{"disableAllHooks": true}`, "disableAllHooks = true", true},
		{"claude-code", "~/.claude/settings.json", `{"disableAllHooks": false, "disabledMcpjsonServers": ["other"]}`, "", false},
		{"claude-code", "~/.claude/settings.json", `{"disabledMcpjsonServers": ["savant"]}`, `"savant" in disabledMcpjsonServers`, true},
		{"claude-code", "/etc/claude-code/managed-settings.json", `{"allowManagedHooksOnly": true}`, "allowManagedHooksOnly = true", false},
		{"claude-code", "~/.claude/settings.json", `{"allowManagedHooksOnly": true}`, "", false},
		{"claude-code", "/etc/claude-code/managed-settings.json", `{"deniedMcpServers": [{"serverName": "savant"}]}`, `"savant" in deniedMcpServers`, false},
		{"claude-code", "/etc/claude-code/managed-settings.json", `{"allowedMcpServers": [{"serverName": "other"}]}`, `allowedMcpServers without "savant"`, false},
		{"claude-code", "/etc/claude-code/managed-settings.json", `{"allowedMcpServers": [{"serverCommand": ["savant", "mcp"]}]}`, "", false},
		{"claude-code", "/etc/claude-code/managed-mcp.json", `{"mcpServers": {}}`, "mcpServers.savant, which is missing,", false},
		{"codex", "~/.codex/config.toml", "[features]\nhooks = false\n", "features.hooks = false", false},
		{"codex", "./.codex/config.toml", "[features]\ncodex_hooks = false\n", "features.codex_hooks = false", false},
		{"codex", "~/.codex/config.toml", "[mcp_servers.savant]\nenabled = false\n", "mcp_servers.savant.enabled = false", false},
		{"codex", "/etc/codex/requirements.toml", "[features]\nhooks = false\n", "features.hooks = false", false},
		{"codex", "/etc/codex/requirements.toml", "allow_managed_hooks_only = true\n", "allow_managed_hooks_only = true", false},
		{"codex", "~/.codex/config.toml", "[projects.\"PROJECT\"]\ntrust_level = \"untrusted\"\n", "projects.PROJECT.trust_level, which is not \"trusted\",", true},
		{"codex", "~/.codex/other.toml", "", "projects.PROJECT.trust_level, which is not \"trusted\",", true},
		{"codex", "~/.codex/config.toml", "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n", "", true},
		{"codex", "~/.codex/config.toml", "[projects.\"PROJECT\"]\ntrust_level = \"untrusted\"\n", "", false},
		{"gemini-cli", "~/.gemini/settings.json", `{"hooksConfig": {"enabled": false}}`, "hooksConfig.enabled = false", false},
		{"gemini-cli", "./.gemini/settings.json", `{"hooksConfig": {"disabled": ["savant"]}}`, `"savant" in hooksConfig.disabled`, false},
		{"gemini-cli", "/etc/gemini-cli/settings.json", `{"mcp": {"excluded": ["savant"]}}`, `"savant" in mcp.excluded`, false},
		{"gemini-cli", "~/.gemini/settings.json", `{"mcp": {"allowed": ["other"]}}`, `mcp.allowed without "savant"`, false},
		{"gemini-cli", "~/.gemini/settings.json", `{"mcp": {"allowed": ["other", "savant"]}}`, "", false},
		{"gemini-cli", "~/.gemini/trustedFolders.json", `{"PROJECT": "DO_NOT_TRUST", "/": "TRUST_FOLDER"}`, "the person's distrust of PROJECT", true},
		{"gemini-cli", "~/.gemini/trustedFolders.json", `{"PROJECT": "TRUST_FOLDER", "/": "DO_NOT_TRUST"}`, "", true},
		{"gemini-cli", "~/.gemini/trustedFolders.json", `{"PROJECT": "DO_NOT_TRUST"}`, "", false},
		{"qwen-code", "~/.qwen/settings.json", `{"disableAllHooks": true}`, "disableAllHooks = true", false},
		{"qwen-code", "./.qwen/settings.json", `{"mcp": {"excluded": ["savant"]}}`, `"savant" in mcp.excluded`, false},
		{"qwen-code", "/etc/qwen-code/settings.json", `{"disableAllHooks": true}`, "disableAllHooks = true", false},
		{"qwen-code", "~/.qwen/trustedFolders.json", `{"/": "DO_NOT_TRUST"}`, "the person's distrust of PROJECT", true},
		{"opencode", "./opencode.jsonc", `{"mcp": {"savant": {"enabled": false}}, /* mine */}`, "mcp.savant.enabled = false", false},
		{"opencode", "~/.config/opencode/opencode.json", `{"tools": {"savant*": false}}`, "tools.savant* = false", false},
		{"vscode", "~/.config/Code/User/settings.json", `{"chat.useChatHooks": false}`, "chat.useChatHooks = false", false},
		{"vscode", "~/.config/Code/User/settings.json", `{"chat.hookFilesLocations": {"~/.copilot/hooks": false}}`, "chat.hookFilesLocations.~/.copilot/hooks = false", false},
		{"vscode", "./.vscode/settings.json", `{"chat.hookFilesLocations": {".github/hooks": false}}`, "chat.hookFilesLocations..github/hooks = false", true},
		{"vscode", "~/.config/Code/User/settings.json", `{"chat.mcp.access": "none"}`, "chat.mcp.access = none", false},
		{"copilot-cli", "~/.copilot/settings.json", `{"disableAllHooks": true}`, "disableAllHooks = true", false},
	} {
		t.Run(c.client+" "+c.file+" "+c.says, func(t *testing.T) {
			client, err := clientsetup.Find(c.client)
			require.NoError(t, err)
			target := target(t)
			target.Root, target.Folder = t.TempDir(), t.TempDir()
			if c.project {
				target.Project = target.Folder
			}
			_, rest, _ := strings.Cut(c.file, "/")
			path := filepath.Join(map[byte]string{'~': target.Home, '.': target.Folder, '/': target.Root}[c.file[0]], rest)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			named := strings.NewReplacer("PROJECT", target.Folder)
			require.NoError(t, os.WriteFile(path, []byte(named.Replace(c.text)), 0o644))
			found, unread := client.Off(target)
			require.Empty(t, unread)
			if c.says == "" {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			require.Equal(t, named.Replace(c.says), found[0].Setting)
			if filepath.Base(path) != "other.toml" {
				require.Equal(t, path, found[0].Path)
			}
		})
	}
}
