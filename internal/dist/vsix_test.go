package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheExtensionOfAnEditor packs the extension with its modules as npm puts them: VS Code
// reads the manifest and what it names, and the program finds its module.
func TestTheExtensionOfAnEditor(t *testing.T) {
	program(t, "npm")
	r := releaseOf(t)
	source := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(source, "editors"), os.DirFS("../../editors")))
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join("../..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(source, name), data, 0o600))
	}
	r.Source = source
	folder := filepath.Join(source, "editors", "vscode")
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "node_modules")))
	packed := filepath.Join(t.TempDir(), "savant.vsix")
	require.ErrorContains(t, r.vsix(packed), "npm ci")
	r.Out = t.TempDir()
	require.NoError(t, r.editor())
	command(t, folder, "npm", "ci", "--no-progress")
	require.NoError(t, r.vsix(packed))
	first, err := os.ReadFile(packed)
	require.NoError(t, err)
	require.NoError(t, r.editor())
	second, err := os.ReadFile(filepath.Join(r.Out, "savant-editor_"+r.Version+".vsix"))
	require.NoError(t, err)
	require.Equal(t, first, second, "the same sources give the same bytes")

	unpacked := t.TempDir()
	unpackZip(t, packed, unpacked)
	data, err := os.ReadFile(filepath.Join(unpacked, "extension.vsixmanifest"))
	require.NoError(t, err)
	var manifest struct {
		Metadata struct {
			Identity struct {
				Version string `xml:"Version,attr"`
			}
		}
		Assets struct {
			Asset struct {
				Path string `xml:"Path,attr"`
			}
		}
	}
	require.NoError(t, xml.Unmarshal(data, &manifest))
	require.Equal(t, version, manifest.Metadata.Identity.Version)
	require.Equal(t, "extension/package.json", manifest.Assets.Asset.Path)
	var described packageJSON
	read(t, filepath.Join(unpacked, "extension", "package.json"), &described)
	require.Equal(t, version, described.Version)
	require.FileExists(t, filepath.Join(unpacked, "extension", "LICENSE"))
	// Only VS Code has the module vscode; all others are packed.
	command(t, filepath.Join(unpacked, "extension"), "node", "-e", `
		const load = require("node:module")._load;
		require("node:module")._load = (name, ...more) => name === "vscode" ? new Proxy(class {}, { get: (at, key) => key === "prototype" ? at.prototype : key === "version" ? "1.90.0" : class {} }) : load(name, ...more);
		const { activate, deactivate } = require("./extension.js");
		if (typeof activate !== "function" || typeof deactivate !== "function") process.exit(1);`)
}
