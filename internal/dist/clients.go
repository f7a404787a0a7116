package main

import (
	"fmt"
	"path/filepath"
)

// mcpBundle writes a bundle that Claude Desktop installs with a click (MCPB manifest
// 0.3). Its name contains mcp, as the MCP registry requires.
func (r release) mcpBundle(t target, program file, documents []file) error {
	files, err := filled(r.values(t), [2]string{"manifest.json", "mcpb.json.tmpl"})
	if err != nil {
		return err
	}
	files = append(files, under("server", []file{program})...)
	return r.writeZip(r.name("savant-mcp", t, ".mcpb"), append(files, documents...))
}

// geminiExtension writes an extension of the Gemini CLI with the program inside.
// The name is the one that the CLI looks for among a release's files:
// PLATFORM.ARCHITECTURE.NAME.tar.gz.
func (r release) geminiExtension(t target, program file, documents []file) error {
	files, err := filled(r.values(t), [2]string{"gemini-extension.json", "gemini-extension.json.tmpl"},
		[2]string{"hooks/hooks.json", "gemini-hooks.json.tmpl"})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s.%s.savant.tar.gz", t.node(), t.nodeArch())
	return r.writeTar(filepath.Join(r.Out, name), append(append(files, program), documents...))
}

// plugin writes a marketplace of one plugin, which Claude Code and Codex both
// install. It starts the savant of PATH. Each hook is one command line, because
// Codex reads no args.
func (r release) plugin() error {
	files, err := filled(r.values(target{}), [2]string{".claude-plugin/marketplace.json", "marketplace.json.tmpl"},
		[2]string{"savant/.claude-plugin/plugin.json", "plugin.json.tmpl"}, [2]string{"savant/.mcp.json", "plugin-mcp.json.tmpl"},
		[2]string{"savant/hooks/hooks.json", "plugin-hooks.json.tmpl"}, [2]string{"savant/README.md", "plugin-README.md.tmpl"})
	if err != nil {
		return err
	}
	return r.writeZip(filepath.Join(r.Out, "savant-plugin_"+r.Version+".zip"), files)
}
