package app

import (
	"encoding/json"
	"slices"

	"savant"
	"savant/engines"
	"savant/engines/ci"
	"savant/engines/guide"
	"savant/internal/settings"
	"savant/think/check"
)

// stepTools are the tools of the registry, as think.Tools: Missing, Version, Names and
// Fits are the registry's.
type stepTools struct {
	*engines.Registry
	app *App
}

// Known implements think.Tools, as the other methods do.
func (s stepTools) Known(name string) bool {
	_, known := s.Resolve(name)
	return known
}

// Schemas returns what the registry knows about a tool.
func (s stepTools) Schemas(name string) (check.Tool, bool) {
	tool, known := s.Resolve(name)
	return check.Tool{Input: tool.InputSchema(), Output: tool.OutputSchema(), Own: slices.Contains(s.app.own, engines.EngineOf(tool.Name))}, known
}

// Unpublished returns a tool's engine if MCP_SERVICE omits it, else "".
func (s stepTools) Unpublished(name string) string {
	tool, known := s.Resolve(name)
	engine := engines.EngineOf(tool.Name)
	if services := s.app.settings.Services; !known || slices.Contains(services, settings.All) || slices.Contains(services, engine) {
		return ""
	}
	return engine
}

// Commands returns the digests of the commands of .savant/ci.yaml if a tool runs them.
func (s stepTools) Commands(tools []string) map[string]string {
	for _, each := range tools {
		if tool, known := s.Resolve(each); known && engines.EngineOf(tool.Name) == ci.Name {
			return ci.Digests(s.app.ciOptions())
		}
	}
	return nil
}

// ToolChoices returns the names of the commands for the tool that runs one.
func (s stepTools) ToolChoices(tool string) map[string][]string {
	if named, known := s.Resolve(tool); known && named.Name == ci.RunTool {
		return map[string][]string{"name": ci.Names(s.app.ciOptions())}
	}
	return nil
}

// Asked returns the name and the digest of a call as its receipt has them.
func (s stepTools) Asked(call string, input json.RawMessage) (tool, digest string, err error) {
	return guide.CallDigest(s.Registry, call, input)
}

var _ savant.Tools = stepTools{}
