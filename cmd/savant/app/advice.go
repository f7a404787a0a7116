package app

import (
	"context"
	"errors"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/think/state"
)

// adviceOnTool says what clients are told to do about an error of a tool: they
// cannot mend what is kept of a run, and whoever reads of it can.
func adviceOnTool(tool string, said *fault.Error) string {
	if engine := engines.EngineOf(tool); engine != "think" && engine != "workflow" {
		return ""
	}
	return adviceOnRun(said)
}

// adviceOnRun is what clients are told of a run of a workflow.
func adviceOnRun(said *fault.Error) string {
	if said.Code == fault.UnknownRun {
		return UnlessNamed(said, "think.state.list", "shows the runs there are")
	}
	return OnDamage(said)
}

// readResource reads a resource of the server, see engines.Offer.
type readResource = func(ctx context.Context, uri string) (text, mimeType string, err error)

// withAdvice has the errors of resources say what to do as those of tools do.
func withAdvice(read readResource) readResource {
	return func(ctx context.Context, uri string) (string, string, error) {
		text, mimeType, err := read(ctx, uri)
		if said := (*fault.Error)(nil); errors.As(err, &said) {
			err = said.Advised(adviceOnRun(said))
		}
		return text, mimeType, err
	}
}

// UnlessNamed is the advice to look at a list, "" where an error says already
// what there is, or what was likely meant.
func UnlessNamed(said *fault.Error, list, shows string) string {
	for _, sign := range []string{list, " list shows", ".list shows", "did you mean", "was deleted", "is a tool of"} {
		if strings.Contains(said.Details, sign) {
			return ""
		}
	}
	return list + " " + shows
}

// OnDamage says what to do about a damaged run of a workflow, "" where an error
// is of something else. What a newer Savant wrote is not damaged.
func OnDamage(said *fault.Error) string {
	if said.Code != fault.StateCorrupt || errors.Is(said, state.ErrNewerFormat) {
		return ""
	}
	return "savant state check says what is wrong, and savant state check --repair takes a run back to its last good version"
}
