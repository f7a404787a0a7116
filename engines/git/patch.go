package git

import (
	"strconv"
	"strings"
)

// parseDiff reads `git diff --raw --numstat --patch`: a line for each file, the
// counts in the same order, an empty line, the patches in the same order. The
// last line of an output that was cut is left out.
func parseDiff(text string, cut bool) changes {
	made := changes{Files: []fileDiff{}}
	if cut {
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	counted := 0
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		switch {
		case line == "":
			made.addPatches(rest)
			return made
		case line[0] == ':':
			made.Files = append(made.Files, parseRaw(line))
		case counted < len(made.Files):
			made.Files[counted].count(line)
			counted++
		}
		text = rest
	}
	return made
}

// parseRaw reads ":100644 100644 HASH HASH R100\told\tnew".
func parseRaw(line string) fileDiff {
	fields := strings.Split(line, "\t")
	modes := strings.Fields(fields[0])
	made := fileDiff{Path: unquote(fields[len(fields)-1]), Status: stateNames[modes[len(modes)-1][0]]}
	made.submodule = strings.HasPrefix(fields[0], ":160000") || len(modes) > 1 && modes[1] == "160000"
	if len(fields) == 3 {
		made.RenamedFrom = unquote(fields[1])
	}
	return made
}

// count reads "12\t3\tpath", or "-\t-\tpath" for a binary file.
func (f *fileDiff) count(line string) {
	added, rest, _ := strings.Cut(line, "\t")
	deleted, _, _ := strings.Cut(rest, "\t")
	f.Binary = added == "-"
	f.Additions, _ = strconv.Atoi(added)
	f.Deletions, _ = strconv.Atoi(deleted)
}

// addPatches gives each file its patch. No line of a patch but its first starts
// with these words, and names in it are quoted, so they cannot be forged.
func (c *changes) addPatches(text string) {
	file, begin, at := -1, 0, 0
	more := 0 // patches the file still has
	finish := func() {
		if file >= 0 && file < len(c.Files) {
			c.Files[file].Patch = text[begin:at]
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "diff --") || strings.HasPrefix(line, "* Unmerged path ") {
			if more == 0 {
				finish()
				file, begin = file+1, at
				more = c.patchesOf(file)
			}
			more--
		}
		at += len(line)
	}
	finish()
}

// patchesOf is two for a change of type, written as a deletion and an addition.
func (c *changes) patchesOf(file int) int {
	if file < len(c.Files) && c.Files[file].Status == "type_changed" {
		return 2
	}
	return 1
}

// unquote reads a path as git prints it: as it is, or in double quotes with the
// escapes of C, which are Go's too.
func unquote(text string) string {
	if path, err := strconv.Unquote(text); err == nil && text[0] == '"' {
		return path
	}
	return text
}
