package repo

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"savant/engines/repo/files"
	"savant/fault"
)

// Defaults of context.tree.
const (
	defaultDepth   = 3
	defaultEntries = 200
)

type treeIn struct {
	Path  string `json:"path,omitempty" doc:"a folder, relative to the project; default all of it"`
	Depth int    `json:"depth,omitempty" min:"1" max:"20" doc:"levels to list; default 3" example:"2"`
	Limit int    `json:"limit,omitempty" min:"1" max:"2000" doc:"most entries; default 200"`
	Repo  string `json:"repo,omitempty" doc:"a repository of SAVANT_REPOS, as search names it"`
}

type treeOut struct {
	Path string `json:"path"`
	// Entries are sorted; a folder comes before its entries.
	Entries []treeEntry `json:"entries"`
	// Files counts all files below path, listed or not.
	Files int `json:"files"`
	// Truncated means that entries within the depth are missing.
	Truncated bool `json:"truncated"`
	// Unread counts folders of the project that cannot be read.
	Unread int `json:"unread,omitempty"`
	// Note names the .gitignore files that are too large to be read.
	Note string `json:"note,omitempty"`
}

// treeEntry is a file or a folder. A folder's path ends in a slash.
type treeEntry struct {
	Path string `json:"path"`
	// Files counts the files below a folder.
	Files int `json:"files,omitempty"`
	// Cut means that the folder has entries that are not listed.
	Cut bool `json:"cut,omitempty"`
}

func (e *reader) tree(ctx context.Context, in treeIn) (treeOut, error) {
	from, err := e.repository(in.Repo)
	if err != nil {
		return treeOut{}, err
	}
	below := path.Clean(strings.TrimSuffix(in.Path, "/"))
	found, err := e.locate(ctx, from, below)
	if err != nil {
		return treeOut{}, err
	}
	defer found.root.Close()
	if !found.info.IsDir() {
		return treeOut{}, invalid("path", "a folder", in.Path)
	}
	listing, err := files.List(ctx, found.root.Name(), e.Withheld)
	if err != nil {
		return treeOut{}, withRepositoryName(in.Repo, err)
	}
	out := arrange(listing.Files, filepath.ToSlash(found.name), cmp.Or(in.Depth, defaultDepth), cmp.Or(in.Limit, defaultEntries))
	out.Unread = listing.Unread
	out.Note = oversizeNote(listing.Oversize)
	return out, nil
}

// oversizeNote names the files of rules that are too large to be applied; "" for none.
func oversizeNote(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("not applied, because they have more than %d bytes: %s", files.MaxRules, fault.Cut(strings.Join(names, ", "), 500))
}

// arrange makes a tree of the files below a folder. If there are too many entries,
// the upper levels are listed.
func arrange(names []string, below string, depth, limit int) treeOut {
	out := treeOut{Path: below, Entries: []treeEntry{}}
	prefix := ""
	if below != "." {
		prefix = below + "/"
	}
	counts := map[string]int{}
	levels := make([][]string, depth)
	for _, file := range names {
		inside, ok := strings.CutPrefix(file, prefix)
		if !ok {
			continue
		}
		out.Files++
		segments := strings.Split(inside, "/")
		for level := range min(depth, len(segments)) {
			name := prefix + strings.Join(segments[:level+1], "/")
			if level < len(segments)-1 {
				name += "/"
			}
			if counts[name] == 0 {
				levels[level] = append(levels[level], name)
			}
			counts[name]++
		}
	}
	out.choose(slices.Concat(levels...), counts, depth+strings.Count(prefix, "/"), limit)
	return out
}

// choose keeps the first names, which are sorted by level, and marks the folders
// that are not listed completely.
func (t *treeOut) choose(names []string, counts map[string]int, deepest, limit int) {
	kept := names[:min(limit, len(names))]
	t.Truncated = len(kept) < len(names)
	cut := map[string]bool{}
	for _, name := range names[len(kept):] {
		cut[path.Dir(strings.TrimSuffix(name, "/"))+"/"] = true
	}
	for _, name := range kept {
		entry := treeEntry{Path: name}
		if strings.HasSuffix(name, "/") {
			entry.Files = counts[name]
			entry.Cut = cut[name] || strings.Count(name, "/") == deepest
		}
		t.Entries = append(t.Entries, entry)
	}
	slices.SortFunc(t.Entries, func(a, b treeEntry) int { return strings.Compare(a.Path, b.Path) })
}
