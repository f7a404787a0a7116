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
	"savant/cmd/savant/commands/clients"
	"savant/cmd/savant/commands/workflows"
	"savant/cmd/savant/terminal"
	"savant/engines/ci"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/internal/settings"
	"savant/internal/trust"
	"savant/internal/visible"
	"savant/think/flow"
)

func (p *program) initCommand() *cobra.Command {
	var yes bool
	command := &cobra.Command{Use: "init [-- PROGRAM ARGUMENT…]", Short: "Begin in a project: its test command and a first workflow",
		Long: "Begin in a project: write " + ci.File + ", which names the commands that models may run through ci.run_tests and ci.run,\n" +
			"and a first workflow with its cases. It recognises a project by its files, such as go.mod, shows what it would write and\n" +
			"asks first; for any other project name the command that runs its tests. No file that exists is changed. At a terminal it\n" +
			"then offers savant setup for each client that is here; with --yes nothing outside of the project is written.",
		Example: "  savant init\n  savant init -- ctest --test-dir build",
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 && command.ArgsLenAtDash() != 0 {
				return cli.UsageError("the command of the tests stands behind --: savant init -- " + trust.CommandLine(args...))
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error { return p.init(command.Context(), yes, args) }}
	command.Flags().BoolVar(&yes, "yes", false, "write without asking")
	return command
}

// init shows the proposed files, asks, and writes the missing ones. words are the command of
// the tests, if the person named one.
func (p *program) init(ctx context.Context, yes bool, words []string) error {
	p.NameFolder()
	root, err := regular.OpenFolder(p.Settings.Path)
	if err != nil {
		return app.Misconfigured(fault.New(fault.InvalidParams, "%s: expected a folder, got %q: %w", settings.EnvPath, p.Settings.Path, errors.Unwrap(err)))
	}
	defer root.Close()
	var proposal ci.Proposal
	next := ""
	if _, err := root.Lstat(ci.File); err == nil {
		next = p.initBefore()
	} else if proposal = ci.Recognise(root.FS()); len(words) > 0 {
		proposal = ci.Named(words)
		fmt.Fprintf(p.Stdout, "%s would be:\n\n%s\n", ci.File, terminal.Content(string(proposal.YAML)))
	} else if len(proposal.Commands) == 0 {
		return unrecognised(root)
	} else {
		fmt.Fprintf(p.Stdout, "Recognised: %s.\n%s would be:\n\n%s\n", terminal.Visible(strings.Join(proposal.Kinds, ", ")), ci.File, terminal.Content(string(proposal.YAML)))
	}
	first, err := workflows.First(root)
	if err != nil {
		return err
	}
	for _, each := range first {
		fmt.Fprintln(p.Stdout, "would write", each.Name())
	}
	if len(first)+len(proposal.Commands) > 0 {
		if err := p.Agree(ctx, yes, "Write it?", ""); err != nil {
			return err
		}
	}
	if len(proposal.Commands) > 0 {
		if err := write(root, ci.File, proposal.YAML); err != nil {
			return err
		}
		p.trustWritten(proposal.YAML)
		fmt.Fprintf(p.Stdout, "Wrote %s. Look at it, change it as you like, and commit it; commands: %s.\n", ci.File, strings.Join(proposal.Commands, ", "))
	}
	for _, each := range first {
		if err := each.Write(root); err != nil {
			return err
		}
	}
	clients.Offer(ctx, p.Program, yes)
	if len(first) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(p.Stdout, "Wrote the workflow %[1]s. Now type:\n%[2]s  savant workflows test %[1]s\n  savant workflows run %[1]s\n  savant verify @last\n", workflows.FirstName, next)
	return err
}

// unrecognised says what would be recognised, and which folders below are projects.
func unrecognised(project *os.Root) error {
	var below []string
	for _, form := range []string{"*", "*/*"} {
		names, _ := regular.Glob(project.FS(), form) // no form is malformed
		for _, name := range names[:min(len(names), 100)] {
			inside, err := regular.OpenBelow(project, name)
			if err != nil {
				continue
			}
			if len(ci.Recognise(inside.FS()).Commands) > 0 {
				below = append(below, name)
			}
			_ = inside.Close() // only read
		}
	}
	if len(below) > 0 {
		return fault.New(fault.InvalidParams, "no project was recognised here, but in %s: cd %s && savant init", strings.Join(below, ", "), below[0])
	}
	return fault.New(fault.InvalidParams, "no project was recognised here: savant init -- PROGRAM ARGUMENT… names the command that runs its tests; "+
		"a folder without tests needs no savant init: savant workflows new NAME --from review")
}

// initBefore reports that commands exist already. It returns the line that trusts them, if
// not all of them are.
func (p *program) initBefore() (next string) {
	said := ci.File + " already exists and was not changed."
	parts, _ := ci.Parts(p.Settings.Path, flow.ReadYAMLPlaces) // errors in the file are reported where it is used
	if slices.ContainsFunc(parts, func(each trust.Part) bool { return !p.Loaded.Folder.Accepts(each) }) {
		said += " Not all of it runs yet: savant trust shows what it would run, and asks."
		next = "  savant trust\n"
	}
	fmt.Fprintln(p.Stdout, said)
	return next
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
