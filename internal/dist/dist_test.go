package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const version = "1.2.3"

func releaseOf(t *testing.T, list ...target) release {
	return release{Source: "../..", Out: filepath.Join(t.TempDir(), "dist"), Version: version, Owner: "OWNER",
		Time: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Targets: list}
}

// TestARelease builds a release of this machine's target, twice.
func TestARelease(t *testing.T) {
	here := target{"linux", runtime.GOARCH}
	r := releaseOf(t, here)
	require.NoError(t, r.make(t.Context()))

	t.Run("the same commit gives the same bytes", func(t *testing.T) {
		again := releaseOf(t, here)
		require.NoError(t, again.make(t.Context()))
		first, err := os.ReadFile(filepath.Join(r.Out, "checksums.txt"))
		require.NoError(t, err)
		second, err := os.ReadFile(filepath.Join(again.Out, "checksums.txt"))
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
		require.Contains(t, string(first), ".rpm\n")
	})
	t.Run("the archive holds a program that runs", func(t *testing.T) {
		folder := t.TempDir()
		unpackTar(t, r.name("savant", here, ".tar.gz"), folder)
		require.FileExists(t, filepath.Join(folder, "LICENSE"))
		for _, each := range []string{"man/man1/savant-workflows-run.1", "zsh/site-functions/_savant", "fish/vendor_completions.d/savant.fish", "powershell/savant.ps1"} {
			require.FileExists(t, filepath.Join(folder, "share", filepath.FromSlash(each)))
		}
		require.Contains(t, command(t, folder, "./savant", "--version"), "v"+version)
	})
	t.Run("the Debian package installs the program", func(t *testing.T) {
		program(t, "dpkg-deb")
		listed := command(t, "", "dpkg-deb", "--contents", r.name("savant", here, ".deb"))
		require.Contains(t, listed, "-rwxr-xr-x root/root")
		for _, each := range []string{"bin/savant", "share/man/man1/savant.1", "share/man/man1/savant-workflows-run.1", "share/bash-completion/completions/savant",
			"share/zsh/vendor-completions/_savant", "share/fish/vendor_completions.d/savant.fish", "share/powershell/savant.ps1"} {
			require.Contains(t, listed, "./usr/"+each+"\n")
		}
		require.NotContains(t, listed, "site-functions")
		require.Contains(t, command(t, "", "dpkg-deb", "--info", r.name("savant", here, ".deb")), "Version: "+version)
	})
	t.Run("npm installs it without scripts", func(t *testing.T) {
		program(t, "npm")
		folder := t.TempDir()
		command(t, folder, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--offline", "--omit=optional",
			npmTarball(t, r, here.npmName()), npmTarball(t, r, "savant-mcp"))
		require.Contains(t, command(t, folder, filepath.Join("node_modules", ".bin", "savant"), "--version"), "v"+version)
	})
	t.Run("the official tool accepts the MCP bundle", func(t *testing.T) {
		program(t, "npm")
		folder := t.TempDir()
		unpackZip(t, r.name("savant-mcp", here, ".mcpb"), folder)
		require.FileExists(t, filepath.Join(folder, "server", "savant"))
		said := command(t, folder, "npm", "exec", "--yes", "--package=@anthropic-ai/mcpb@2.1.2", "--", "mcpb", "validate", "manifest.json")
		require.Contains(t, said, "passes")
	})
	t.Run("the SBOM names the modules of the program", func(t *testing.T) {
		var document spdxDocument
		read(t, r.name("savant", here, ".spdx.json"), &document)
		require.Equal(t, "SPDX-2.3", document.Version)
		require.Greater(t, len(document.Packages), 20)
		require.Len(t, document.Relationships, len(document.Packages))
		require.Contains(t, document.Packages[len(document.Packages)-1].References[0].Locator, "pkg:golang/")
	})
	t.Run("server.json fits its schema", func(t *testing.T) {
		compiler := jsonschema.NewCompiler()
		schema, err := compiler.Compile(filepath.Join(module(t, "github.com/modelcontextprotocol/registry@v1.8.8"), "internal", "validators", "schemas", "2025-12-11.json"))
		require.NoError(t, err)
		var entry any
		read(t, filepath.Join(r.Out, "server.json"), &entry)
		require.NoError(t, schema.Validate(entry))
	})
}

// TestThePluginIsForClaudeCodeAndCodex: Codex drops the args of a hook, and the directory
// of Claude Code's plugins wants to read at least 40 words.
func TestThePluginIsForClaudeCodeAndCodex(t *testing.T) {
	r, folder := releaseOf(t), t.TempDir()
	require.NoError(t, os.MkdirAll(r.Out, 0o755))
	require.NoError(t, r.plugin())
	unpackZip(t, filepath.Join(r.Out, "savant-plugin_1.2.3.zip"), folder)
	var hooks struct {
		Hooks map[string][]struct{ Hooks []map[string]any }
	}
	read(t, filepath.Join(folder, "savant", "hooks", "hooks.json"), &hooks)
	require.Len(t, hooks.Hooks, 3)
	for event, groups := range hooks.Hooks {
		require.Equal(t, "savant hook claude-code", groups[0].Hooks[0]["command"], event)
		require.NotContains(t, groups[0].Hooks[0], "args", event)
	}
	about, err := os.ReadFile(filepath.Join(folder, "savant", "README.md"))
	require.NoError(t, err)
	require.Greater(t, len(strings.Fields(string(about))), 40)
}

// TestTheCaskNamesEachArchive fills the cask without building six programs.
func TestTheCaskNamesEachArchive(t *testing.T) {
	r := releaseOf(t, targets...)
	require.NoError(t, os.MkdirAll(r.Out, 0o755))
	for _, each := range targets {
		require.NoError(t, os.WriteFile(r.name("savant", each, ".tar.gz"), []byte(each.String()), 0o600))
	}
	r.Manual = []file{{name: "share/man/man1/savant.1"}, {name: "share/fish/vendor_completions.d/savant.fish"}}
	require.NoError(t, r.cask())
	text, err := os.ReadFile(filepath.Join(r.Out, "savant.rb"))
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(text), "sha256 \""))
	require.Equal(t, 1, strings.Count(string(text), "manpage \"share/man/man1/savant.1\""))
	require.Equal(t, 1, strings.Count(string(text), "savant.fish"))
	require.Contains(t, string(text), "https://github.com/OWNER/savant/releases/download/v1.2.3/savant_1.2.3_darwin_arm64.tar.gz")
	if ruby, err := exec.LookPath("ruby"); err == nil {
		command(t, "", ruby, "-c", filepath.Join(r.Out, "savant.rb"))
	}
}

func TestTheGoReleaserConfigurationFitsItsSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	schema, err := compiler.Compile(filepath.Join(module(t, "github.com/goreleaser/goreleaser/v2@v2.14.0"), "www", "docs", "static", "schema.json"))
	require.NoError(t, err)
	text, err := os.ReadFile("../../.goreleaser.yaml")
	require.NoError(t, err)
	var configuration any
	require.NoError(t, yaml.Unmarshal(text, &configuration))
	plain, err := json.Marshal(configuration)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(plain, &configuration))
	require.NoError(t, schema.Validate(configuration))
}

func TestTheVersionIsSemantic(t *testing.T) {
	for given, wanted := range map[string]string{"v1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3-rc.1", "v1.2": "", "latest": "", "1.2.3+build": ""} {
		version, err := versionOf(t.Context(), ".", given)
		require.Equal(t, wanted, version)
		require.Equal(t, wanted == "", err != nil, given)
	}
	version, err := versionOf(t.Context(), "../..", "")
	require.NoError(t, err)
	require.True(t, semantic(version), version)
}

func TestAnUnknownTargetIsReportedWithTheKnownOnes(t *testing.T) {
	_, err := targetsOf("linux/amd64,plan9/386")
	require.ErrorContains(t, err, `"plan9/386"`)
	require.ErrorContains(t, err, "windows/arm64")
}

// program skips the test where a program is missing, except in CI.
func program(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing", name)
		}
		t.Skipf("%s is missing", name)
	}
}

func command(t *testing.T, folder, name string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, name, arguments...)
	run.Dir = folder
	text, err := run.CombinedOutput()
	require.NoError(t, err, "%s %v\n%s", name, arguments, text)
	return string(text)
}

// module is the folder of a Go module's sources.
func module(t *testing.T, name string) string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", name).Output()
	require.NoError(t, err, string(text))
	var found struct{ Dir string }
	require.NoError(t, json.Unmarshal(text, &found))
	return found.Dir
}

func read(t *testing.T, path string, value any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, value))
}

func npmTarball(t *testing.T, r release, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(r.Out, "npm-"+name+"-"+r.Version+".tgz"))
	require.NoError(t, err)
	return path
}

func unpackTar(t *testing.T, path, folder string) {
	t.Helper()
	packed, err := os.Open(path)
	require.NoError(t, err)
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	require.NoError(t, err)
	archive := tar.NewReader(plain)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		data, err := io.ReadAll(archive)
		require.NoError(t, err)
		file := filepath.Join(folder, filepath.FromSlash(header.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, data, os.FileMode(header.Mode)))
	}
}

func unpackZip(t *testing.T, path, folder string) {
	t.Helper()
	packed, err := os.ReadFile(path)
	require.NoError(t, err)
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(folder, archive))
}
