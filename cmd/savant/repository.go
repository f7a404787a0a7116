package main

import (
	"errors"

	"savant/engines"
	"savant/engines/ci"
	"savant/engines/repo"
	"savant/internal/settings"
	"savant/think/flow"
)

// addRepositoryEngines adds the engines that work on the project itself.
func (h *house) addRepositoryEngines(s settings.Settings) error {
	commands, commandTools := ci.Engine(ci.Options{Path: h.path, ReadYAML: flow.ReadYAMLPlaces})
	h.search = repo.NewSearch(repo.SearchOptions{Path: h.path, Repos: s.Repos, Logger: h.logger})
	return errors.Join(
		h.tools.AddEngine(commands, commandTools...),
		h.tools.AddEngine(engines.Engine{Name: "context", Description: "searches and reads the project's files"}, h.search.Tools()...),
	)
}
