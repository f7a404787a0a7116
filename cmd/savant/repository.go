package main

import (
	"errors"

	"savant/engines/ci"
	"savant/engines/repo"
	"savant/internal/settings"
	"savant/think/flow"
)

// addRepositoryEngines adds the engines that work on the project itself.
func (h *house) addRepositoryEngines(s settings.Settings) error {
	commands, commandTools := ci.Engine(ci.Options{Path: h.path, ReadYAML: flow.ReadYAMLPlaces})
	h.search = repo.NewSearch(repo.SearchOptions{Path: h.path, Repos: s.Repos, Logger: h.logger})
	reading, readingTools := repo.Engine(repo.Options{Path: h.path, Repos: s.Repos, Past: h.pastRuns, Redactor: h.recorder.Redactor()}, h.search)
	return errors.Join(
		h.tools.AddEngine(commands, commandTools...),
		h.tools.AddEngine(reading, readingTools...),
	)
}
