// Package clients holds the commands that configure MCP clients for Savant and test the
// configuration.
package clients

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	linediff "github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"savant"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines/guide"
	"savant/fault"
	"savant/internal/clientsetup"
	"savant/internal/redact"
	"savant/internal/regular"
	"savant/think/library"
)

// setup is one run of the command.
type setup struct {
	*cli.Program
	project, dryRun, undo, yes bool
	thisBinary, skills         bool
	command                    string
	service                    string
}

// SetupCommand is `savant setup`.
func SetupCommand(p *cli.Program) *cobra.Command {
	s := &setup{Program: p}
	command := &cobra.Command{Use: "setup [CLIENT]", Short: "Write the server and its hooks into a client's configuration",
		Long: "Writes the MCP server and the hooks into the client's configuration, shows the change and asks first. Other entries stay;\n" +
			"the old file is kept next to the new one, with a time stamp. Without CLIENT it shows which clients are here.\n\nClients: " +
			strings.Join(clientsetup.Names(), ", ") + ".",
		Example: "  savant setup claude-code --dry-run\n  savant setup codex --project\n  savant setup claude-code --undo",
		Args:    cli.Positional(cobra.MaximumNArgs(1)), ValidArgs: clientsetup.Names(),
		RunE: func(command *cobra.Command, args []string) error { return s.run(command.Context(), args) }}
	command.Flags().BoolVar(&s.project, "project", false, "write the configuration of this project, not your own")
	s.flags(command)
	command.Flags().BoolVar(&s.skills, "skills", false, "also write the workflows as skills: the bundled ones, with --project those of the project")
	command.Flags().StringVar(&s.service, "service", clientsetup.Services, "the services that the server publishes")
	command.AddCommand(editorCommand(p))
	return command
}

// flags are those that a client and an editor have in common.
func (s *setup) flags(command *cobra.Command) {
	command.Flags().BoolVar(&s.dryRun, "dry-run", false, "show the change and write nothing")
	command.Flags().BoolVar(&s.undo, "undo", false, "remove Savant's entries")
	command.Flags().BoolVar(&s.yes, "yes", false, "write without asking")
	command.Flags().BoolVar(&s.thisBinary, "this-binary", false, "start this program, although it lies in a temporary folder or in one of builds")
	command.Flags().StringVar(&s.command, "command", "", "the command that the client starts; default: this program, and savant for a project")
}

// targetOf returns what is configured and where.
func targetOf(p *cli.Program, project bool, service string) (clientsetup.Target, error) {
	t := clientsetup.Target{Service: service, OS: runtime.GOOS, Variable: p.Variable}
	var err error
	if t.Program, err = running(); err != nil {
		return t, err
	}
	if home, ok := p.Variable("HOME"); ok && home != "" {
		t.Home = home
	} else if t.Home, err = os.UserHomeDir(); err != nil {
		return t, app.Misconfigured(fault.New(fault.InvalidParams, "your home folder is not known; set HOME"))
	}
	if t.TemporaryReason() != "" && sameFile(t.Program, installed(t)) {
		t.Program = installed(t)
	}
	folder, err := app.AbsolutePath(p.Settings)
	if err != nil {
		return t, err
	}
	if t.Folder = folder; project {
		t.Project = folder
	}
	return t, nil
}

// running returns the path of this program.
func running() (string, error) {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return "", fault.New(fault.Internal, "this program's path is not known: %w", err)
	}
	return program, nil
}

// installed is where setup copies the program to.
func installed(t clientsetup.Target) string {
	return filepath.Join(t.Home, ".local", "bin", filepath.Base(t.Program))
}

// sameFile reports whether two files have the same bytes.
func sameFile(one, other string) bool {
	first, err := os.Stat(one)
	second, failed := os.Stat(other)
	if err != nil || failed != nil || first.Size() != second.Size() {
		return false
	}
	text, err := os.ReadFile(one)
	copied, failed := os.ReadFile(other)
	return err == nil && failed == nil && bytes.Equal(text, copied)
}

func (s *setup) run(ctx context.Context, args []string) error {
	t, err := targetOf(s.Program, s.project, s.service)
	if err != nil {
		return err
	}
	if len(args) == 0 && (s.undo || s.dryRun || s.yes || s.skills) {
		return cli.UsageError("CLIENT is missing, the one that is meant; savant setup lists them")
	}
	if len(args) == 0 {
		return s.list(t)
	}
	client, err := clientsetup.Find(args[0])
	if err != nil {
		return err
	}
	plan := client.Setup
	if s.undo {
		plan = client.Undo
	} else if t.Program, err = s.lasting(ctx, t); err != nil {
		return err
	}
	if !utf8.ValidString(t.Program) {
		return app.Misconfigured(fault.New(fault.InvalidParams, "no configuration can name %q, which is not UTF-8: rename it, or its folder", t.Program))
	}
	changes, err := plan(t)
	if err == nil {
		changes, err = s.withSkills(client, t, changes)
	}
	if err != nil {
		return app.Misconfigured(err)
	}
	written, err := s.write(ctx, changes, client.Title)
	if err != nil || s.dryRun {
		return err
	}
	if written > 0 {
		s.done(client, written)
	}
	return s.trustCodex(ctx, client, t) // it may have been installed since
}

// write shows changes and, unless the run is dry, asks and writes them. It returns how many
// files it wrote.
func (s *setup) write(ctx context.Context, changes []clientsetup.Change, title string) (int, error) {
	changed := 0
	for _, change := range changes {
		if change.Changed() {
			changed++
			s.show(change)
		}
	}
	if changed == 0 {
		fmt.Fprintf(s.Stdout, "Nothing to change: %s.\n", map[bool]string{false: title + " is set up", true: "Savant has no entry there"}[s.undo])
		return 0, nil
	}
	if s.dryRun {
		fmt.Fprintln(s.Stdout, "Nothing was written.")
		return 0, nil
	}
	if err := s.Agree(ctx, s.yes, fmt.Sprintf("Write %s?", terminal.Count(changed, "file")), ", --dry-run only shows"); err != nil {
		return 0, err
	}
	return changed, clientsetup.Apply(changes, time.Now())
}

// withSkills adds the changes of the client's folder of skills: with --skills they are
// written, and --undo removes them.
func (s *setup) withSkills(client clientsetup.Client, t clientsetup.Target, changes []clientsetup.Change) ([]clientsetup.Change, error) {
	if !s.skills && !s.undo {
		return changes, nil
	}
	var skills []clientsetup.Skill
	if !s.undo {
		var err error
		if skills, err = skillsOf(t); err != nil {
			return nil, err
		}
	}
	more, edited, err := client.Skills(t, skills)
	if other := client.SharesSkills(t); s.undo && len(more) > 0 && other != "" {
		fmt.Fprintf(s.Stdout, "%s reads the skills in the same folder, too: they stay.\n", other)
		return changes, nil
	}
	for _, path := range edited {
		fmt.Fprintf(s.Stdout, "Kept as it was edited: %s. Remove it, or move it away, if you want Savant's.\n", terminal.Visible(path))
	}
	return append(changes, more...), err
}

// skillsOf returns the skills of the bundled workflows, of a project those of its own.
func skillsOf(t clientsetup.Target) ([]clientsetup.Skill, error) {
	layers, origin := []library.Layer{{Files: savant.Files, Origin: library.Bundled}}, library.Bundled
	if t.Project != "" {
		root, err := regular.OpenFolder(t.Project)
		if err != nil {
			return nil, fault.New(fault.InvalidParams, "the project's folder: %w", err)
		}
		defer func() { _ = root.Close() }() // its files were only read
		layers, origin = append(layers, library.Layer{Files: root.FS(), Origin: library.Project}), library.Project
	}
	files, own := library.New(layers...), map[string]bool{}
	for _, entry := range files.List() {
		own[entry.Name] = entry.Origin == origin
	}
	all, err := guide.Skills(files)
	var list []clientsetup.Skill
	for _, each := range all {
		metadata, _ := each.Frontmatter["metadata"].(map[string]any)
		if name, _ := metadata[guide.SkillMark].(string); own[name] {
			list = append(list, clientsetup.Skill{Name: each.Name, Text: each.Text})
		}
	}
	return list, err
}

// lasting returns the program that a client may start for good. An installed program is
// returned as it is. Any other one is copied to ~/.local/bin if the person agrees. The
// files of a project are shared, so they name the command and no place of this machine.
func (s *setup) lasting(ctx context.Context, t clientsetup.Target) (string, error) {
	switch {
	case s.command != "":
		return s.command, nil
	case s.project && !s.thisBinary:
		if !onPath() {
			return "", app.Misconfigured(fault.New(fault.InvalidParams, "the files of a project name the command savant, and PATH has none").
				Hinted(fault.Hint{Text: "install it first (make install), or say --command, or --this-binary for a project of your own"}))
		}
		return shared, nil
	case s.thisBinary:
		return running()
	}
	why, copied := t.TemporaryReason(), installed(t)
	if why == "" || s.dryRun {
		return t.Program, nil
	}
	refused := app.Misconfigured(fault.New(fault.InvalidParams, "%s lies in %s, and the client would start it from there after it is gone", t.Program, why).
		Hinted(fault.Hint{Text: "install it first (make install, or copy it to " + copied + " and run savant setup there), or say --this-binary"}))
	if s.yes || !terminal.IsTerminal(s.Stdin) {
		return "", refused
	}
	if yes, _ := terminal.Confirm(ctx, s.Stdin, s.Stdout, fmt.Sprintf("This program lies in %s. Copy it to %s, and set that up?", why, copied)); !yes {
		return "", refused
	}
	return copied, install(t.Program, copied)
}

// shared is the command of Savant in files that others use, too.
const shared = "savant"

// onPath reports whether PATH has that command.
func onPath() bool {
	_, err := exec.LookPath(shared)
	return err == nil
}

// install copies a program, whole or not at all.
func install(program, to string) error {
	text, err := os.ReadFile(program)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = cli.WriteFile(to, text, 0o755)
	}
	if err != nil {
		return fault.New(fault.InvalidParams, "%s cannot be copied: %w", program, err)
	}
	return nil
}

// show prints the change of a file. What looks like a secret is redacted, since keys of
// other servers may be near the change.
func (s *setup) show(c clientsetup.Change) {
	before, after := c.Path, c.Path
	if c.Target != filepath.Clean(c.Path) {
		before += ", which leads to " + c.Target
		after = before
	}
	if !c.Existed {
		before = os.DevNull
	}
	if c.Gone {
		after = os.DevNull
		c.After = nil
	}
	if c.Generated { // nobody reads a whole schema
		fmt.Fprintf(s.Stdout, "--- %s\n+++ %s (%s of Savant's)\n", terminal.Visible(before), terminal.Visible(after), terminal.Count(len(c.After), "byte"))
		return
	}
	text := string(linediff.Diff(before, c.Before, after, c.After))
	_, text, _ = strings.Cut(text, "\n") // "diff OLD NEW"
	fmt.Fprintln(s.Stdout, terminal.Content(redact.Shapes().Text(text)))
}

func (s *setup) done(client clientsetup.Client, files int) {
	if s.undo {
		fmt.Fprintf(s.Stdout, "Removed from %s.\n", terminal.Count(files, "file"))
		return
	}
	trial := "savant doctor " + client.Name
	if s.project {
		trial += " --project"
	}
	fmt.Fprintf(s.Stdout, "%s is set up. Try it: %s\n", client.Title, trial)
	for _, note := range client.Notes {
		fmt.Fprintln(s.Stdout, "Note:", note)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Offer names each client that is here and does not start Savant, with the command that
// sets it up. A person at a terminal is asked whether that shall be done now, unless the
// answers were given beforehand: then nothing outside of the project is written.
func Offer(ctx context.Context, p *cli.Program, beforehand bool) {
	t, err := targetOf(p, false, clientsetup.Services)
	if err != nil {
		return // without a home there are no clients
	}
	for _, client := range clientsetup.All() {
		found, err := client.Configured(t)
		if err != nil || !found.Server.None() || len(client.Found(t, exists)) == 0 {
			continue
		}
		if !beforehand && terminal.IsTerminal(p.Stdin) {
			question := client.Title + " is here, and Savant is not in it yet. Set it up now?"
			if yes, err := terminal.Confirm(ctx, p.Stdin, p.Stdout, question); err == nil && yes {
				s := &setup{Program: p, service: clientsetup.Services}
				err := s.run(ctx, []string{client.Name})
				if err == nil {
					continue
				}
				p.Report(err)
			}
		}
		fmt.Fprintf(p.Stdout, "To use Savant in %s: savant setup %s\n", client.Title, client.Name)
	}
}

// list shows the clients and their state.
func (s *setup) list(t clientsetup.Target) error {
	var unread []error
	err := terminal.Table(s.Stdout, []string{"CLIENT", "HERE", "SAVANT", "HOOKS"}, clientsetup.All(), func(c clientsetup.Client) []string {
		here, state, hooks := "no", "-", "yes"
		if len(c.Found(t, exists)) > 0 {
			found, err := c.Configured(t)
			if here, state = "yes", stateOf(found); err != nil {
				state, unread = "unreadable", append(unread, err)
			}
		}
		if !c.Hooks {
			hooks = "none"
		}
		return []string{c.Name, here, state, hooks}
	})
	if err != nil {
		return err
	}
	for _, each := range unread {
		fmt.Fprintln(s.Stderr, "savant:", terminal.Visible(fault.From(each).Message()))
	}
	_, err = fmt.Fprintln(s.Stdout, "\nsavant setup CLIENT --dry-run shows what it would write; --project writes the project's files.")
	return err
}

func stateOf(found clientsetup.Configured) string {
	switch {
	case len(found.Missing) == 0:
		return "set up"
	case !found.Server.None():
		return "in part"
	}
	return "not set up"
}
