package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// registryName is Savant's name in the MCP registry.
func (r release) registryName() string { return "io.github." + r.Owner + "/savant" }

// registryEntry writes server.json for the MCP registry, schema 2025-12-11. The
// addresses in it hold once a release of that version is published.
func (r release) registryEntry() error {
	type object = map[string]any
	stdio := object{"type": "stdio"}
	variables := []object{
		{"name": "SAVANT_PATH", "description": "The folder to work in; default: the current one", "format": "filepath"},
		{"name": "MCP_SERVICE", "description": "The services to publish", "default": "think,git,context,ci,review,agent"}}
	packages := []object{
		{"registryType": "npm", "identifier": "savant-mcp", "version": r.Version, "transport": stdio, "environmentVariables": variables},
		{"registryType": "oci", "identifier": "ghcr.io/" + r.Owner + "/savant:" + r.Version, "transport": stdio, "environmentVariables": variables}}
	for _, t := range r.Targets {
		bundle := r.name("savant-mcp", t, ".mcpb")
		digest, err := digestOf(bundle)
		if err != nil {
			return err
		}
		packages = append(packages, object{"registryType": "mcpb", "identifier": r.address(bundle), "version": r.Version, "fileSha256": digest, "transport": stdio})
	}
	return writeJSON(filepath.Join(r.Out, "server.json"), object{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    r.registryName(), "title": "Savant", "version": r.Version,
		"description": "Makes a language model follow a YAML workflow exactly, and proves it",
		"repository":  object{"url": "https://github.com/" + r.Owner + "/savant", "source": "github"},
		"packages":    packages})
}

// caskValues are the archives that the Homebrew cask downloads.
type caskValues struct {
	release
	digests map[string]string
}

func (c caskValues) SHA(name string) (string, error) {
	if digest, ok := c.digests[name]; ok {
		return digest, nil
	}
	return "", fmt.Errorf("the cask needs the archive of %s", name)
}

func (c caskValues) URL(name string) string {
	system, arch, _ := strings.Cut(name, "/")
	return c.address(c.name("savant", target{system, arch}, ".tar.gz"))
}

// Pages are the manual pages of the archives.
func (c caskValues) Pages() (names []string) {
	for _, f := range c.Manual {
		if strings.HasSuffix(f.name, ".1") {
			names = append(names, f.name)
		}
	}
	return names
}

// cask writes the Homebrew cask. It needs the archives of all macOS and Linux
// targets, so a build of fewer targets has none.
func (r release) cask() error {
	values := caskValues{r, map[string]string{}}
	for _, t := range targets {
		if t.OS == "windows" {
			continue
		}
		if !slices.Contains(r.Targets, t) {
			return nil
		}
		digest, err := digestOf(r.name("savant", t, ".tar.gz"))
		if err != nil {
			return err
		}
		values.digests[t.String()] = digest
	}
	text, err := fill("cask.rb.tmpl", values)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Out, "savant.rb"), text, 0o644)
}

// checksums writes checksums.txt, which `sha256sum -c checksums.txt` reads.
func (r release) checksums() error {
	entries, err := os.ReadDir(r.Out) // sorted by name
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		digest, err := digestOf(filepath.Join(r.Out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", digest, entry.Name())
	}
	return os.WriteFile(filepath.Join(r.Out, "checksums.txt"), []byte(text.String()), 0o644)
}

func digestOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:]), nil
}
