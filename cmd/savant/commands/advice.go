package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"savant/cmd/savant/app"
	"savant/fault"
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
		return app.UnlessNamed(said, "savant state list", "shows the runs there are")
	case fault.UnknownTool:
		return app.UnlessNamed(said, "savant tools", "lists those there are")
	}
	for _, sign := range []string{".savant/state/", ".savant/artifacts/", "does not follow from the records before it"} {
		if strings.Contains(said.Details, sign) {
			return app.OnDamage(said)
		}
	}
	return ""
}
