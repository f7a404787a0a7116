package app

import (
	"context"
	"errors"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/think/maintenance"
)

// hintForTool is the hint for clients about an error of a tool. It is meant for the
// person who reads it: clients cannot repair a run.
func hintForTool(tool string, said *fault.Error) fault.Hint {
	if said.Code == fault.UnknownTool {
		return guide.NoTool(tool)
	}
	if engine := engines.EngineOf(tool); engine != "think" && engine != "workflow" {
		return fault.Hint{}
	}
	return hintForRun(said)
}

// hintForRun is the hint for clients about an error of a workflow's run.
func hintForRun(said *fault.Error) fault.Hint {
	if said.Code == fault.UnknownRun {
		return fault.Hint{Call: "think.state.list", Text: "lists the runs"}
	}
	return maintenance.OnDamage(said)
}

// readResource reads a resource of the server, see engines.Offer.
type readResource = func(ctx context.Context, uri string) (text, mimeType string, err error)

// withHints adds hints to errors of resources, as tools have them.
func withHints(read readResource) readResource {
	return func(ctx context.Context, uri string) (string, string, error) {
		text, mimeType, err := read(ctx, uri)
		if said := (*fault.Error)(nil); errors.As(err, &said) {
			err = said.Hinted(hintForRun(said))
		}
		return text, mimeType, err
	}
}
