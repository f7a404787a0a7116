package main

import (
	"errors"

	"savant/engines/ci"
	"savant/think/flow"
)

// addRepositoryEngines adds the engines that work on the project itself.
func (h *house) addRepositoryEngines() error {
	commands, commandTools := ci.Engine(ci.Options{Path: h.path, ReadYAML: flow.ReadYAMLPlaces})
	return errors.Join(h.tools.AddEngine(commands, commandTools...))
}
