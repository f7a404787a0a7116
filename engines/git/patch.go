package git

import (
	"strconv"
	"strings"
)

// parseDiff parses `git diff --raw --numstat --patch`: a line per file, the counts in
// the same order, an empty line, the patches in the same order. It drops the last line
// of truncated output.
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
	diff := fileDiff{Path: unquote(fields[len(fields)-1]), Status: stateNames[modes[len(modes)-1][0]]}
	diff.submodule = strings.HasPrefix(fields[0], ":160000") || len(modes) > 1 && modes[1] == "160000"
	if len(fields) == 3 {
		diff.RenamedFrom = unquote(fields[1])
	}
	return diff
}

// count reads "12\t3\tpath", or "-\t-\tpath" for a binary file.
func (f *fileDiff) count(line string) {
	added, rest, _ := strings.Cut(line, "\t")
	deleted, _, _ := strings.Cut(rest, "\t")
	f.Binary = added == "-"
	f.Additions, _ = strconv.Atoi(added)
	f.Deletions, _ = strconv.Atoi(deleted)
}

// addPatches assigns the patches to their files. Only the first line of a patch starts
// with these words, and names in it are quoted, so content cannot imitate it.
func (c *changes) addPatches(text string) {
	file, begin, at := -1, 0, 0
	more := 0 // remaining patches of the file
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

// patchesOf is two for a change of type, which is a deletion and an addition.
func (c *changes) patchesOf(file int) int {
	if file < len(c.Files) && c.Files[file].Status == "type_changed" {
		return 2
	}
	return 1
}

// unquote parses a path as git prints it: plain, or quoted with C escapes, which Go
// shares.
func unquote(text string) string {
	if path, err := strconv.Unquote(text); err == nil && text[0] == '"' {
		return path
	}
	return text
}
