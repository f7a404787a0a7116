package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// contentTypes of Open Packaging: VS Code asks only that there are some.
const contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json" ContentType="application/json"/><Default Extension=".js" ContentType="application/javascript"/><Default Extension=".vsixmanifest" ContentType="text/xml"/><Default Extension=".md" ContentType="text/markdown"/></Types>
`

// vsixManifest is the manifest, whose texts are filled in as XML.
const vsixManifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="%s" Version="%s" Publisher="%s"/>
    <DisplayName>%s</DisplayName>
    <Description xml:space="preserve">%s</Description>
    <Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value="%s"/></Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/></Assets>
</PackageManifest>
`

// editor packs the extension of VS Code into the release, where npm ci has run in its folder.
func (r release) editor() error {
	if _, err := os.Stat(filepath.Join(r.Source, "editors", "vscode", "node_modules")); err != nil {
		fmt.Fprintln(os.Stderr, "dist: without the extension of VS Code, which needs npm")
		return nil
	}
	return r.vsix(filepath.Join(r.Out, "savant-editor_"+r.Version+".vsix"))
}

// vsix packs the extension of VS Code as it lies in editors/vscode, with the modules that
// npm ci has put there, under the release's version.
func (r release) vsix(path string) error {
	folder := filepath.Join(r.Source, "editors", "vscode")
	data, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		return err
	}
	var described map[string]any
	if err := json.Unmarshal(data, &described); err != nil {
		return err
	}
	described["version"], _, _ = strings.Cut(r.Version, "-") // VS Code knows no pre-releases in a version
	packageJSON, err := indented(described)
	if err != nil {
		return err
	}
	engines, _ := described["engines"].(map[string]any)
	texts := []any{described["name"], described["version"], described["publisher"], described["displayName"], described["description"], engines["vscode"]}
	for i, each := range texts {
		var escaped bytes.Buffer
		if err := xml.EscapeText(&escaped, []byte(fmt.Sprint(each))); err != nil {
			return err
		}
		texts[i] = escaped.String()
	}
	files := []file{{name: "extension.vsixmanifest", data: fmt.Appendf(nil, vsixManifest, texts...)}, {name: "[Content_Types].xml", data: []byte(contentTypes)},
		{name: "extension/package.json", data: packageJSON}}
	modules, err := r.extensionFiles(folder)
	if err != nil {
		return err
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return r.writeZip(path, append(append(files, modules...), under("extension", documents[:1])...))
}

// extensionFiles are the program of the extension and the modules that it needs, in the
// order of their names.
func (r release) extensionFiles(folder string) (files []file, err error) {
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "vscode-languageclient")); err != nil {
		return nil, fmt.Errorf("run npm ci in %s first: %w", folder, err)
	}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && strings.HasPrefix(entry.Name(), ".") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		below, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(below)
		ours := name == "extension.js" || strings.HasPrefix(name, "node_modules/")
		if !ours || !entry.Type().IsRegular() || !runs(name) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			files = append(files, file{name: "extension/" + name, data: data})
		}
		return err
	})
	return files, err
}

// runs reports whether a file of a module is needed to run it, or is its license.
func runs(name string) bool {
	base := strings.ToLower(filepath.Base(name))
	return strings.HasSuffix(base, ".js") || strings.HasSuffix(base, ".cjs") || strings.HasSuffix(base, ".mjs") || base == "package.json" || strings.HasPrefix(base, "license")
}
