// Package sessions makes the rules of a folder hold: it keeps what each session called,
// durably, and asks package rules before every call.
package sessions

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
	"savant/rules"
	"savant/think/flow"
	"savant/think/library"
)

// Folder is the folder of rules, below SAVANT_PATH.
const Folder = "rules"

// Bounds of the folder of rules.
const (
	maxFiles = 200
	maxFile  = 1 << 20
	maxAll   = 2 << 20
)

const casesEnd = ".cases"

// sources are the texts of the files of rules, by path, and of workflows with rules, see
// nameOf.
type sources map[string]string

// nameOf names the file of a workflow among sources. No file of the folder of rules has such
// a name.
func nameOf(w *flow.Workflow) string { return "@" + w.Digest + " " + w.File }

// parseSource reads one of the sources.
func parseSource(name, text string) (*rules.File, error) {
	if digest, file, named := strings.Cut(name, " "); named && strings.HasPrefix(digest, "@") {
		return rules.ParseWorkflow(file, []byte(text))
	}
	return rules.Parse(name, []byte(text))
}

// digest names the rules that some sources make.
func (s sources) digest() string {
	digest, err := jsonvalue.Digest(s)
	if err != nil { // a map of texts can always be encoded
		return ""
	}
	return digest[:32]
}

// readSources reads the files of rules of a folder.
func readSources(files fs.FS) (sources, error) {
	names, err := Files(files, false)
	if err != nil {
		return nil, err
	}
	size, all := 0, sources{}
	for _, name := range names {
		source, err := Read(files, name)
		if err != nil {
			return nil, err
		}
		if size += len(source); size > maxAll {
			return nil, fault.New(fault.LimitExceeded, "%s has more than %d bytes of rules", Folder, maxAll)
		}
		all[name] = string(source)
	}
	return all, nil
}

// parse returns the rules of sources. The error has all that is wrong.
func (s sources) parse() (*rules.Set, error) {
	var all []*rules.File
	var wrong []fault.Diagnostic
	for _, name := range slices.Sorted(maps.Keys(s)) {
		file, err := parseSource(name, s[name])
		if err != nil {
			coded := fault.From(err)
			if len(coded.Diagnostics) == 0 {
				return nil, err
			}
			for _, each := range coded.Diagnostics {
				wrong = append(wrong, each.Quoting(fault.Lines(s[name])))
			}
			continue
		}
		all = append(all, file)
	}
	if len(wrong) > 0 {
		return nil, fault.InFile(wrong[0].File, wrong)
	}
	return rules.New(all...), nil
}

// Load reads the rules of a folder, whose names are relative to it. A folder without
// rules gives an empty set. The error has all that is wrong.
func Load(files fs.FS) (*rules.Set, error) {
	all, err := readSources(files)
	if err != nil {
		return nil, err
	}
	return all.parse()
}

// Files returns the names of the files of rules, or of their cases, also of those in folders
// below, sorted.
func Files(files fs.FS, cases bool) ([]string, error) {
	_, err := fs.ReadDir(files, Folder)
	if errors.Is(err, fs.ErrNotExist) {
		if _, absent := fs.Lstat(files, Folder); absent != nil { // and no link that leads nowhere
			return nil, nil
		}
	}
	if err != nil {
		return nil, fault.New(fault.YAMLSchemaViolation, "%s: the folder of rules cannot be read: %w", Folder, err)
	}
	names, err := library.FilesBelow(files, Folder)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		name = strings.ToLower(name)
		return path.Ext(strings.TrimSuffix(name, path.Ext(name))) == casesEnd != cases
	})
	if len(names) > maxFiles {
		return nil, fault.New(fault.LimitExceeded, "%s: %d files; at most %d are read", Folder, len(names), maxFiles)
	}
	slices.Sort(names)
	return names, nil
}

// Read reads one file, of at most 1 MB.
func Read(files fs.FS, name string) ([]byte, error) {
	source, err := regular.ReadFS(files, name, maxFile)
	switch {
	case errors.Is(err, regular.ErrTooLarge):
		return nil, fault.New(fault.LimitExceeded, "%s is larger than %d bytes", name, maxFile)
	case err != nil:
		return nil, fault.New(fault.YAMLSchemaViolation, "%s cannot be read: %w", name, err)
	}
	return source, nil
}
