package app

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"savant/engines/git"
	"savant/engines/repo/files"
	"savant/fault"
	"savant/reasoning"
)

// Limits of a description: recent files and languages.
const (
	maxRecent    = 10
	maxLanguages = 12
)

// repository describes the repository at SAVANT_PATH for a run; nil without a repository.
func (a *App) repository(ctx context.Context) (*reasoning.Repo, error) {
	found, err := git.Describe(ctx, git.Options{Roots: a.gitRoots()})
	if errors.Is(err, fault.InvalidParams) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &reasoning.Repo{Name: filepath.Base(a.Path), Branch: found.Branch, Head: found.Head, Branches: found.Branches, Files: len(found.Files),
		Recent: found.Recent[:min(maxRecent, len(found.Recent))], Languages: languages(found.Files)}, nil
}

// languages counts files by language, from their extension, and returns the most
// frequent ones.
func languages(paths []string) map[string]int {
	counts := map[string]int{}
	for _, each := range paths {
		if name := files.LanguageName(each); name != "" {
			counts[name]++
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	for _, name := range names[min(maxLanguages, len(names)):] {
		delete(counts, name)
	}
	return counts
}
