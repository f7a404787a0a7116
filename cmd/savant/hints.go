package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"savant/engines"
	"savant/fault"
	"savant/think/state"
)

// commands are what people type where clients call a tool.
var commands = strings.NewReplacer("think.state.list shows", "savant state list shows", "think.workflows.list shows", "savant workflows list shows",
	"think.reset goes back", "savant call think.reset goes back", "agent.list shows", "savant runs list shows")

// forPeople is what an error says, for somebody at a command line: with the
// commands there are, and what to do.
func (p *program) forPeople(said *fault.Error) string {
	return commands.Replace(said.Advised(p.hint(said)).Details)
}

// hint says what to do about an error where that is not a matter of the one
// call, "" for others.
func (p *program) hint(said *fault.Error) string {
	switch {
	case strings.Contains(said.Details, "path escapes from parent"): // what os.Root says
		return fmt.Sprintf("what Savant keeps has to be inside SAVANT_PATH, which is %q: no link may lead out of it", p.settings.Path)
	case (said.Code == fault.StateNotSaved || said.Code == fault.Internal) && (errors.Is(said, fs.ErrPermission) || errors.Is(said, syscall.EROFS)):
		return fmt.Sprintf("SAVANT_PATH is %q; --path names another folder", p.settings.Path)
	}
	switch said.Code {
	case fault.UnknownRun:
		return unlessNamed(said, "savant state list", "shows the runs there are")
	case fault.UnknownTool:
		return unlessNamed(said, "savant tools", "lists those there are")
	}
	for _, sign := range []string{".savant/state/", ".savant/artifacts/", "does not follow from the records before it"} {
		if strings.Contains(said.Details, sign) {
			return onDamage(said)
		}
	}
	return ""
}

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
		return unlessNamed(said, "think.state.list", "shows the runs there are")
	}
	return onDamage(said)
}

// unlessNamed is the advice to look at a list, "" where an error says already
// what there is, or what was likely meant.
func unlessNamed(said *fault.Error, list, shows string) string {
	for _, sign := range []string{list, " list shows", ".list shows", "did you mean", "was deleted", "is a tool of"} {
		if strings.Contains(said.Details, sign) {
			return ""
		}
	}
	return list + " " + shows
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

// onDamage says what to do about a damaged run of a workflow, "" where an error
// is of something else. What a newer Savant wrote is not damaged.
func onDamage(said *fault.Error) string {
	if said.Code != fault.StateCorrupt || errors.Is(said, state.ErrNewerFormat) {
		return ""
	}
	return "savant state check says what is wrong, and savant state check --repair takes a run back to its last good version"
}
