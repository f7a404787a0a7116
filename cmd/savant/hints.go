package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"savant/fault"
)

// commands are what people type where clients call a tool.
var commands = strings.NewReplacer("think.state.list shows", "savant state list shows", "think.workflows.list shows", "savant workflows list shows",
	"think.reset goes back", "savant call think.reset goes back", "agent.list shows", "savant runs list shows")

// forPeople is what an error says, for somebody at a command line: with the
// commands there are, and what to do.
func (p *program) forPeople(said *fault.Error) string {
	text := commands.Replace(said.Details)
	if hint := p.hint(said); hint != "" {
		text += "; " + hint
	}
	return text
}

// hint says what to do about an error where that is not a matter of the one
// call, "" for others.
func (p *program) hint(said *fault.Error) string {
	names := func(part string) bool { return strings.Contains(said.Details, part) }
	switch {
	case names("path escapes from parent"): // what os.Root says
		return fmt.Sprintf("what Savant keeps has to be inside SAVANT_PATH, which is %q: no link may lead out of it", p.settings.Path)
	case (said.Code == fault.StateNotSaved || said.Code == fault.Internal) && (errors.Is(said, fs.ErrPermission) || errors.Is(said, syscall.EROFS)):
		return fmt.Sprintf("SAVANT_PATH is %q; --path names another folder", p.settings.Path)
	case said.Code == fault.StateCorrupt && (names(".savant/state/") || names(".savant/artifacts/")):
		return "savant state check says what is wrong, and with --repair takes a run back to its last good version"
	}
	return ""
}
