package app

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"savant/agent"
	"savant/engines"
	"savant/engines/git"
	"savant/engines/repo/files"
	"savant/reasoning"
)

// prompts reads the driver prompt, the personas and the rules of the agent.
func (a *App) prompts(context.Context) (agent.Prompts, error) {
	var read agent.Prompts
	driver, complex, err := a.Think.Library.AgentPrompt()
	if err != nil {
		return read, err
	}
	read.Driver = reasoning.Driver{Version: driver.Version, Hash: driver.Hash, Text: driver.PromptMD, Complex: complex}
	whole, err := a.Think.Library.Prompts()
	if err != nil {
		return read, err
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return read, err
	}
	return read, json.Unmarshal(raw, &read)
}

func gitTools(roots []string) map[string]engines.Tool {
	tools := map[string]engines.Tool{}
	for _, each := range git.Tools(git.Options{Roots: roots}) {
		tools[each.Name] = each
	}
	return tools
}

// askTool calls a tool without a receipt, since no decision asked for it.
func askTool(ctx context.Context, tool engines.Tool, args string, into any) error {
	result, err := tool.Call(ctx, json.RawMessage(args))
	if err != nil {
		return err
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// gitKnowledge are git's answers that describe a repository.
type gitKnowledge struct {
	status struct {
		Branch string `json:"branch"`
		Head   string `json:"head"`
	}
	files struct {
		Files []string `json:"files"`
	}
	log struct {
		Commits []struct {
			Files []string `json:"files"`
		} `json:"commits"`
	}
}

// Limits of a description: recent files and languages.
const (
	maxRecent    = 10
	maxLanguages = 12
)

func (k gitKnowledge) repo(folder string) *reasoning.Repo {
	repo := &reasoning.Repo{Name: filepath.Base(folder), Branch: k.status.Branch, Head: k.status.Head, Files: len(k.files.Files)}
	for _, commit := range k.log.Commits {
		for _, each := range commit.Files {
			if len(repo.Recent) < maxRecent && !slices.Contains(repo.Recent, each) {
				repo.Recent = append(repo.Recent, each)
			}
		}
	}
	repo.Languages = languages(k.files.Files)
	return repo
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
