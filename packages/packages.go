// Package packages shares workflows between projects: a package is what a git repository, a
// folder or an archive has in workflows/, schemas/, prompts/ and rules/, and prompts.yml; nothing else. A project
// names its packages in workflows.lock, with the digest of each file. Their content lies in
// .savant/packages, or in workflows/vendor, and only content that fits its digest is used.
package packages

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// The bounds of a package.
const (
	maxFiles = 500
	maxFile  = 1 << 20
	maxBytes = 10 << 20
	// maxPath bounds the length of a file's name in a package.
	maxPath = 200
)

// The folders of a package, and the endings of the files that are taken from each.
const (
	workflowFolder = "workflows"
	schemaFolder   = "schemas"
	ruleFolder     = "rules"
	promptFolder   = "prompts"
	promptFile     = "prompts.yml"
)

// unsharable is a part of a name that is hidden, or that another system cannot have.
var unsharable = pattern.Lazy(`(?i)^\.|[\x00-\x1f\x7f:*?"<>|]|[. ]$|^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)`)

// pointerHead begins a file whose content Git LFS has elsewhere.
const pointerHead = "version https://git-lfs.github.com/spec/"

// Content is what a package consists of: the bytes of its files by their names.
type Content map[string][]byte

// IsPackageFile reports whether a package has a file of this name: a workflow, cases, a schema, a
// prompt or a rule. All other files of a source are left out.
func IsPackageFile(name string) bool {
	folder, rest, below := strings.Cut(name, "/")
	if !below {
		return name == promptFile
	}
	if len(name) > maxPath || !utf8.ValidString(name) || path.Clean(name) != name || strings.Contains(name, "\\") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if unsharable().MatchString(part) {
			return false
		}
	}
	extension := strings.ToLower(path.Ext(name))
	yaml := extension == ".yaml" || extension == ".yml"
	switch folder {
	case workflowFolder:
		return yaml && !strings.HasPrefix(rest, vendorName+"/") && strings.Count(rest, "/") < 3
	case ruleFolder:
		return yaml && strings.Count(rest, "/") < 3
	case promptFolder:
		return extension == ".md" && strings.Count(rest, "/") < 3
	case schemaFolder:
		return extension == ".json" && !strings.Contains(rest, "/")
	}
	return false
}

// Names returns the names of the files, sorted.
func (c Content) Names() []string {
	return slices.Sorted(maps.Keys(c))
}

// Digests returns the digest of each file.
func (c Content) Digests() map[string]string {
	made := make(map[string]string, len(c))
	for name, data := range c {
		made[name] = jsonvalue.SHA256(jsonvalue.HexSum(data))
	}
	return made
}

// Rules returns the names of the files of rules, without cases.
func (c Content) Rules() []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool { return !strings.HasPrefix(name, ruleFolder+"/") || isCases(name) })
}

// Prompts returns the names of prompts.yml and of what it names.
func (c Content) Prompts() []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool { return name != promptFile && !strings.HasPrefix(name, promptFolder+"/") })
}

func isCases(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.ToLower(name), path.Ext(name)), ".cases")
}

// check refuses content that is empty or beyond the bounds.
func (c Content) check(source Source) error {
	bytes, lower := 0, map[string]string{}
	for _, name := range c.Names() {
		data := c[name]
		bytes += len(data)
		folded := norm.NFC.String(strings.ToLower(name))
		if other, twin := lower[folded]; twin {
			return fault.New(fault.InvalidParams, "%s: %s and %s are one file where the case and the coding of letters do not matter", source, other, name)
		}
		lower[folded] = name
		for folder := path.Dir(folded); folder != "."; folder = path.Dir(folder) {
			if other, twin := lower[folder]; twin {
				return fault.New(fault.InvalidParams, "%s: %s is a file, and %s lies below it", source, other, name)
			}
		}
		if strings.HasPrefix(string(data), pointerHead) {
			return fault.New(fault.InvalidParams, "%s: %s is a pointer of Git LFS, whose content a package does not fetch: its owner keeps it in git itself", source, name)
		}
		if len(data) > maxFile {
			return fault.New(fault.LimitExceeded, "%s: %s has %d bytes, and a file of a package has at most %d", source, name, len(data), maxFile)
		}
	}
	switch {
	case len(c) == 0:
		return fault.New(fault.InvalidParams, "%s has no workflow, schema, prompt or rule: a package has them in workflows/, schemas/, prompts/ and rules/", source)
	case len(c) > maxFiles || bytes > maxBytes:
		return fault.New(fault.LimitExceeded, "%s has %d files of %d bytes, and a package has at most %d of %d", source, len(c), bytes, maxFiles, maxBytes)
	}
	return nil
}
