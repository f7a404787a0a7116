package review

import (
	"path"
	"slices"
	"strings"

	"savant/internal/pattern"
)

// Folders and files that people do not write. The report names them, and they are not
// reviewed.
var (
	vendored  = []string{"vendor", "node_modules", "third_party", "bower_components", "Pods"}
	lockFiles = []string{"go.sum", "go.work.sum", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "Cargo.lock",
		"poetry.lock", "Pipfile.lock", "uv.lock", "composer.lock", "Gemfile.lock", "mix.lock", "flake.lock", "gradle.lockfile", "Podfile.lock", "packages.lock.json"}
	generatedNames = []string{"*.pb.go", "*.pb.gw.go", "*_generated.go", "zz_generated.*", "*.gen.go", "*_gen.go", "*.g.dart", "*_pb2.py", "*_pb2_grpc.py",
		"*.min.js", "*.min.css", "*.map", "*.snap", "*.designer.cs"}
)

// generatedMark is what Go (golang.org/s/generatedcode) and most other generators write
// at the top of a file.
var generatedMark = pattern.Lazy(`(?m)^\W*(?:Code generated .* DO NOT EDIT|@generated\b|(?i:auto-?generated)\b.*(?i:do not (?:edit|modify)))`)

// templates are the extensions of files that generators read. A mark in such a file is
// meant for the generated file.
var templates = []string{".tmpl", ".tpl", ".gotmpl", ".j2", ".mustache", ".hbs", ".erb", ".ejs"}

// isGenerated reports whether the top of a file has a generator's mark.
func isGenerated(name, top string) bool {
	return !slices.Contains(templates, path.Ext(name)) && generatedMark().MatchString(top)
}

// leftOut returns why a file is not reviewed, by its name and kind, or "".
func leftOut(file fileChange) string {
	base := path.Base(file.Path)
	switch folders := strings.Split(path.Dir(file.Path), "/"); {
	case file.Binary:
		return "binary"
	case slices.ContainsFunc(folders, func(folder string) bool { return slices.Contains(vendored, folder) }):
		return "vendored"
	case slices.Contains(lockFiles, base):
		return "lock file"
	case slices.ContainsFunc(generatedNames, func(name string) bool { fits, _ := path.Match(name, base); return fits }):
		return "generated"
	}
	return ""
}

// top returns those lines of a passage that belong to the top of the file, in its new
// version or, for a deleted file, the old one.
func (p passage) top() string {
	deleted := !slices.ContainsFunc(p.lines, func(each line) bool { return each.Kind != '-' })
	var out strings.Builder
	for _, each := range p.lines {
		if max(each.Old, each.New) > topLines {
			break
		}
		if each.Kind != '-' || deleted {
			out.WriteString(each.Text + "\n")
		}
	}
	return out.String()
}

// topLines is how far down a generator's mark is searched.
const topLines = 20
