package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines/ci"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/ownfolder"
	"savant/internal/settings"
	"savant/internal/trust"
	"savant/internal/visible"
	"savant/think/flow"
)

func (p *program) initCommand() *cobra.Command {
	var yes bool
	command := &cobra.Command{Use: "init", Short: "Write " + ci.File + " for the project it recognises, asking first",
		Long: "Write " + ci.File + ", which names the commands that models may run through ci.run_tests and ci.run.\n" +
			"It recognises Go, Node, Python and Make projects, shows what it would write and asks first. Nothing is overwritten.",
		Args: cli.Positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error { return p.init(command.Context(), yes) }}
	command.Flags().BoolVar(&yes, "yes", false, "write without asking")
	return command
}

// init shows the proposed files, asks, and writes the missing ones.
func (p *program) init(ctx context.Context, yes bool) error {
	p.NameFolder()
	root, err := os.OpenRoot(p.Settings.Path)
	if err != nil {
		return app.Misconfigured(fault.New(fault.InvalidParams, "%s: expected a folder, got %q: %w", settings.EnvPath, p.Settings.Path, errors.Unwrap(err)))
	}
	defer root.Close()
	if _, err := root.Lstat(ci.File); err == nil {
		return p.initBefore()
	}
	proposal := ci.Recognise(root.FS())
	if len(proposal.Commands) == 0 {
		return fault.New(fault.InvalidParams, "no project was recognised here: expected go.mod, package.json with a test script, "+
			"pytest or tox, or a Makefile with a target test; docs/ci.md says how to write %s by hand", ci.File)
	}
	fmt.Fprintf(p.Stdout, "Recognised: %s.\n%s would be:\n\n%s\n", terminal.Visible(strings.Join(proposal.Kinds, ", ")), ci.File, terminal.Content(string(proposal.YAML)))
	if err := p.agreeToWrite(ctx, yes); err != nil {
		return err
	}
	if err := write(root, ci.File, proposal.YAML); err != nil {
		return err
	}
	p.trustWritten(proposal.YAML)
	_, err = fmt.Fprintf(p.Stdout, "Wrote %s. Look at it, change it as you like, and commit it; commands: %s.\n", ci.File, strings.Join(proposal.Commands, ", "))
	return err
}

// initBefore reports that commands exist already, and which of them are not yet
// trusted.
func (p *program) initBefore() error {
	said := ci.File + " already exists and was not changed."
	parts, _ := ci.Parts(p.Settings.Path, flow.ReadYAMLPlaces) // errors in the file are reported where it is used
	if slices.ContainsFunc(parts, func(each trust.Part) bool { return !p.Loaded.Folder.Accepts(each) }) {
		said += " Not all of it runs yet: savant trust shows what it would run, and asks."
	}
	_, err := fmt.Fprintln(p.Stdout, said)
	return err
}

// trustWritten accepts the commands of a file that the user just agreed to. If that
// cannot be stored, savant trust asks later.
func (p *program) trustWritten(text []byte) {
	parts, err := ci.PartsOf(p.Settings.Path, text, flow.ReadYAMLPlaces)
	if err == nil {
		err = p.Loaded.Folder.Accept(parts...)
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "savant: warning: its commands do not run before savant trust: %s\n", visible.Line(fault.From(err).Message()))
	}
}

// agreeToWrite returns nil if the person agrees to the files shown.
func (p *program) agreeToWrite(ctx context.Context, yes bool) error {
	agreed, err := p.agrees(ctx, "Write it?", yes)
	switch {
	case errors.Is(err, errNobody):
		fmt.Fprintln(p.Stderr, "savant: nothing was written, because nobody can be asked here; to write it without a question: savant init --yes")
		return cli.StatusError(cli.ExitUsage)
	case agreed:
		return nil
	}
	fmt.Fprintln(p.Stderr, "savant: nothing was written")
	return cli.StatusError(cli.ExitFailed)
}

// write writes a file below .savant.
func write(root *os.Root, name string, text []byte) error {
	if err := ownfolder.Mkdir(root, ownfolder.State, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return app.Misconfigured(ownfolder.NotSaved(ownfolder.State, err))
	}
	if err := atomicfile.Write(root, name, text, 0o644); err != nil {
		return app.Misconfigured(ownfolder.NotSaved(name, err))
	}
	return nil
}
