package clients

import (
	"fmt"
	"slices"
	"strings"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/internal/clientsetup"
	"savant/internal/regular"
	"savant/rules"
	"savant/rules/sessions"
)

// Watching returns the titles of the clients that are set up, for the user or for the
// project: those whose hooks see the calls of their own tools, and those without hooks.
func Watching(p *cli.Program) (hooked, blind []string, err error) {
	for _, project := range []bool{false, true} {
		t, err := targetOf(p, project, clientsetup.Services)
		if err != nil {
			return nil, nil, err
		}
		for _, client := range clientsetup.All() {
			found, err := client.Configured(t)
			switch {
			case err != nil && found.Hook.None(): // what cannot be read is doctor's to tell
			case !found.Hook.None():
				hooked = append(hooked, client.Title)
			case !found.Server.None():
				blind = append(blind, client.Title)
			}
		}
	}
	slices.Sort(hooked)
	slices.Sort(blind)
	hooked, blind = slices.Compact(hooked), slices.Compact(blind)
	return hooked, slices.DeleteFunc(blind, func(title string) bool { return slices.Contains(hooked, title) }), nil
}

// unseen tells which rules are about tools of the client whose calls nobody sees.
func (d *doctor) unseen(client clientsetup.Client, found clientsetup.Configured) {
	if client.Hooks && !found.Hook.None() {
		return
	}
	folder, err := app.AbsolutePath(d.Settings)
	if err != nil {
		return
	}
	root, err := regular.OpenFolder(folder)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }() // its files were only read
	set, err := sessions.Load(app.RuleFiles(root))
	if err != nil {
		d.wrong("the rules of "+folder+" cannot be read: "+err.Error(), "savant rules check")
		return
	}
	if tools, ids := clientTools(set); len(tools) > 0 {
		d.note(fmt.Sprintf("nobody sees its calls of %s: the rules %s do not hold there", strings.Join(tools, ", "), strings.Join(ids, ", ")))
	}
}

// clientTools returns the tools of clients that rules are about, which have no engine in
// their names, and the ids of the rules.
func clientTools(set *rules.Set) (tools, ids []string) {
	for _, name := range set.Names() {
		if guards := set.Guards(name); !strings.Contains(name, ".") && len(guards) > 0 {
			tools = append(tools, name)
			for _, rule := range guards {
				ids = append(ids, rule.ID)
			}
		}
	}
	slices.Sort(ids)
	return tools, slices.Compact(ids)
}
