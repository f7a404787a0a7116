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
var commands = map[string]string{
	"think.state.list":     "savant state list",
	"think.workflows.list": "savant workflows list",
	"think.reset":          "savant call think.reset",
	"agent.list":           "savant runs list",
}

// forPeople is what an error says, for somebody at a command line: with the
// commands there are, and what to do.
func (p *program) forPeople(said *fault.Error) string {
	hinted := *said.Hinted(p.hint(said))
	if command := commands[hinted.Hint.Call]; command != "" {
		hinted.Hint.Call = command
	}
	return hinted.Message()
}

// errNotPublished is the cause of an error about a tool that this server does
// not publish.
var errNotPublished = errors.New("which is not among those of")

// hint says what to do about an error that has no hint where that is not a
// matter of the one call; the zero Hint for others.
func (p *program) hint(said *fault.Error) fault.Hint {
	switch {
	case strings.Contains(said.Details, "path escapes from parent"): // what os.Root says
		return fault.Hint{Text: fmt.Sprintf("what Savant keeps has to be inside SAVANT_PATH, which is %q: no link may lead out of it", p.settings.Path)}
	case (said.Code == fault.StateNotSaved || said.Code == fault.Internal) && (errors.Is(said, fs.ErrPermission) || errors.Is(said, syscall.EROFS)):
		return fault.Hint{Text: fmt.Sprintf("SAVANT_PATH is %q; --path names another folder", p.settings.Path)}
	case said.Code == fault.UnknownRun:
		return fault.Hint{Call: "savant state list", Text: "shows the runs there are"}
	case said.Code == fault.UnknownTool && len(said.Diagnostics) == 0 && !errors.Is(said, errNotPublished):
		return fault.Hint{Call: "savant tools", Text: "lists those there are"}
	}
	for _, sign := range []string{".savant/state/", ".savant/artifacts/", "does not follow from the records before it"} {
		if strings.Contains(said.Details, sign) {
			return app.OnDamage(said)
		}
	}
	return fault.Hint{}
}
