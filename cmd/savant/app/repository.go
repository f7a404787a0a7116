package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"savant/fault"
	"savant/reasoning"
)

// repository describes the repository at SAVANT_PATH to a run.
func (a *App) repository(ctx context.Context) (*reasoning.Repo, error) {
	return describe(ctx, a.Path, a.gitRoots())
}

// describe says what git knows. The questions are asked at once; nil where
// there is no repository.
func describe(ctx context.Context, path string, roots []string) (*reasoning.Repo, error) {
	tools := gitTools(roots)
	var known gitKnowledge
	var asking sync.WaitGroup
	var err error
	asking.Go(func() { err = askTool(ctx, tools["git.files"], `{"limit":10000}`, &known.files) })
	asking.Go(func() { _ = askTool(ctx, tools["git.log"], `{"limit":10,"files":true}`, &known.log) }) // none before the first commit
	branch, told := branchOf(path)
	known.status.Branch = branch
	if !told {
		asking.Go(func() { _ = askTool(ctx, tools["git.status"], `{"limit":1}`, &known.status) })
	}
	asking.Wait()
	if errors.Is(err, fault.InvalidParams) {
		return nil, nil // there is none
	}
	if err != nil {
		return nil, err
	}
	if len(known.log.Commits) > 0 {
		known.status.Head = known.log.Commits[0].Hash
	}
	return known.repo(path), nil
}

// branchOf reads the branch from .git/HEAD (gitrepository-layout(5)), which
// saves asking for the state of every file. A linked work tree, a folder below
// the top and a detached head are left to git.
func branchOf(path string) (branch string, told bool) {
	head, err := os.ReadFile(filepath.Join(path, ".git", "HEAD"))
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
}
