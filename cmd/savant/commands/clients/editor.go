package clients

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"savant"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/internal/clientsetup"
)

// editorCommand is `savant setup editor`.
func editorCommand(p *cli.Program) *cobra.Command {
	s := &setup{Program: p, project: true}
	command := &cobra.Command{Use: "editor [EDITOR…]", Short: "Write the language server into the settings of editors, in this project",
		Long: "Write how editors check and complete workflows, cases and rules into the files of this project: vscode, zed, neovim and\n" +
			"jetbrains, or those that are named. It shows the change and asks first; other entries stay. An editor that cannot start\n" +
			"savant lsp by its settings gets the JSON Schemas.",
		Example:   "  savant setup editor --dry-run\n  savant setup editor neovim\n  savant setup editor --undo",
		ValidArgs: []string{"vscode", "zed", "neovim", "jetbrains"},
		RunE:      func(command *cobra.Command, args []string) error { return s.editors(command.Context(), args) }}
	s.flags(command)
	return command
}

// editors sets editors up, each file once.
func (s *setup) editors(ctx context.Context, names []string) error {
	t, err := targetOf(s.Program, true, "")
	if err != nil {
		return err
	}
	clients, err := clientsetup.ChosenEditors(savant.Files, names)
	if err != nil {
		return err
	}
	if s.undo && s.command == "" && !s.thisBinary {
		s.command = shared // what a set-up writes
	}
	if t.Program, err = s.lasting(ctx, t); err != nil {
		return err
	}
	changes, err := s.editorChanges(clients, t)
	if err != nil {
		return err
	}
	written, err := s.write(ctx, changes, "each editor")
	if err != nil || written == 0 {
		return err
	}
	if s.undo {
		fmt.Fprintf(s.Stdout, "Removed from %s.\n", terminal.Count(written, "file"))
		return nil
	}
	for _, each := range clients {
		fmt.Fprintf(s.Stdout, "%s is set up.\n", each.Title)
		for _, note := range each.Notes {
			fmt.Fprintln(s.Stdout, "Note:", note)
		}
	}
	return nil
}

// editorChanges returns the changes of the editors' files, each once. The schemas stay at
// an undo: the first lines of workflows name them, too.
func (s *setup) editorChanges(clients []clientsetup.Client, t clientsetup.Target) (changes []clientsetup.Change, err error) {
	seen := map[string]bool{}
	for _, each := range clients {
		plan := each.Setup
		if s.undo {
			plan = each.Undo
		}
		some, err := plan(t)
		if err != nil {
			return nil, app.Misconfigured(err)
		}
		for _, change := range some {
			if !seen[change.Path] && !(s.undo && change.Generated) {
				changes = append(changes, change)
			}
			seen[change.Path] = true
		}
	}
	return changes, nil
}
