package main

import (
	"path/filepath"
)

// packageJSON is an npm package.json.
type packageJSON struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Repository   map[string]string `json:"repository"`
	MCPName      string            `json:"mcpName,omitempty"` // binds the package to server.json
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	Files        []string          `json:"files"`
	Engines      map[string]string `json:"engines,omitempty"`
	Dependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// node is the operating system in Node's names, nodeArch the architecture.
func (t target) node() string {
	if t.OS == "windows" {
		return "win32"
	}
	return t.OS
}

func (t target) nodeArch() string {
	if t.Arch == "amd64" {
		return "x64"
	}
	return t.Arch
}

// npmName is the package that holds the target's program.
func (t target) npmName() string { return "savant-mcp-" + t.node() + "-" + t.nodeArch() }

func (r release) npmPackage(name string) packageJSON {
	return packageJSON{Name: name, Version: r.Version, License: "MIT",
		Description: "Makes a language model follow a YAML workflow exactly, and proves it",
		Repository:  map[string]string{"type": "git", "url": "git+https://github.com/" + r.Owner + "/savant.git"}}
}

// npmPlatform writes the package of one platform. os and cpu keep npm from
// installing it elsewhere.
func (r release) npmPlatform(t target, program file, documents []file) error {
	described := r.npmPackage(t.npmName())
	described.OS, described.CPU, described.Files = []string{t.node()}, []string{t.nodeArch()}, []string{"bin"}
	return r.npmTarball(described, append(under("bin", []file{program}), documents...))
}

// npmLauncher writes the package that people install: a launcher, and a package
// for each platform as an optional dependency.
func (r release) npmLauncher() error {
	launcher, err := templates.ReadFile("templates/launcher.js")
	if err != nil {
		return err
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	described := r.npmPackage("savant-mcp")
	described.MCPName = r.registryName()
	described.Bin, described.Files = map[string]string{"savant": "bin/savant.js"}, []string{"bin"}
	described.Engines, described.Dependencies = map[string]string{"node": ">=18"}, map[string]string{}
	for _, t := range r.Targets {
		described.Dependencies[t.npmName()] = r.Version
	}
	return r.npmTarball(described, append([]file{{name: "bin/savant.js", data: launcher, executable: true}}, documents...))
}

func (r release) npmTarball(described packageJSON, files []file) error {
	data, err := indented(described)
	if err != nil {
		return err
	}
	files = under("package", append([]file{{name: "package.json", data: data}}, files...))
	return r.writeTar(filepath.Join(r.Out, "npm-"+described.Name+"-"+r.Version+".tgz"), files)
}
