package app

import (
	"context"
	"errors"
	"sync"

	"savant/fault"
	"savant/reasoning"
)

// repository describes the repository at SAVANT_PATH for a run.
func (a *App) repository(ctx context.Context) (*reasoning.Repo, error) {
	return describe(ctx, a.Path, a.gitRoots())
}

// describe asks git concurrently; nil without a repository.
func describe(ctx context.Context, path string, roots []string) (*reasoning.Repo, error) {
	tools := gitTools(roots)
	var known gitKnowledge
	var asking sync.WaitGroup
	var err error
	asking.Go(func() { err = askTool(ctx, tools["git.files"], `{"limit":10000}`, &known.files) })
	asking.Go(func() { _ = askTool(ctx, tools["git.log"], `{"limit":10,"files":true}`, &known.log) }) // fails before the first commit
	asking.Go(func() { _ = askTool(ctx, tools["git.status"], `{"limit":1}`, &known.status) })
	asking.Wait()
	if errors.Is(err, fault.InvalidParams) {
		return nil, nil // no repository
	}
	if err != nil {
		return nil, err
	}
	return known.repo(path), nil
}
