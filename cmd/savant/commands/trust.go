package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines/ci"
	"savant/engines/mount"
	"savant/fault"
	"savant/internal/redact"
	"savant/internal/settings"
	"savant/internal/trust"
	"savant/internal/visible"
)

// trustFlags are the flags of `savant trust`.
type trustFlags struct {
	list, revoke, yes bool
	except            []string
}

func (p *program) trustCommand() *cobra.Command {
	var flags trustFlags
	command := &cobra.Command{Use: "trust [PART…]", Short: "Review what this folder would start or replace, and accept it",
		Long: "Review the parts of this folder that start programs (" + ci.File + ", " + mount.File + "), say where content is sent or what is\n" +
			"read outside the folder (" + settings.FileName + "), or replace bundled prompts, workflows and schemas.\n" +
			"None of them is used until you say yes here. The answer is kept in your own configuration folder, by folder and content:\n" +
			"a part that changes later is shown and asked about again, also if a script of the folder changes that a command starts;\n" +
			"--except PATTERN leaves scripts out of that. --list prints the name of each part, KIND:NAME; without one all are meant.\n" +
			"It asks at a terminal; elsewhere --yes accepts what is printed, and " + settings.EnvTrust + "=DIGEST accepts exactly what has that digest.",
		RunE: func(command *cobra.Command, parts []string) error {
			if flags.list && flags.revoke {
				return cli.UsageError("--list and --revoke exclude each other: leave one out")
			}
			for _, each := range flags.except {
				if _, err := path.Match(each, ""); err != nil {
					return cli.UsageError("--except: " + terminal.Visible(each) + " is not a pattern of paths, such as tests/*.py")
				}
			}
			return p.trust(command.Context(), flags, parts)
		}}
	command.Flags().BoolVar(&flags.list, "list", false, "list the parts of this folder and the answers about them; start and change nothing")
	command.Flags().BoolVar(&flags.revoke, "revoke", false, "forget the answers about these parts, or about the whole folder")
	command.Flags().BoolVar(&flags.yes, "yes", false, "accept without asking; a refused part only if it is named")
	command.Flags().StringArrayVar(&flags.except, "except", nil, "ask nothing when a program changes whose path or name in the folder fits this pattern, such as tests/*.py")
	return p.JSONFlag(command)
}

func (p *program) trust(ctx context.Context, flags trustFlags, ids []string) error {
	p.NameFolder()
	place, err := app.AbsolutePath(p.Settings)
	if err != nil {
		return err
	}
	if info, err := os.Stat(place); err != nil || !info.IsDir() {
		return app.Misconfigured(fault.New(fault.InvalidParams, "%s: expected a folder, got %q", settings.EnvPath, p.Settings.Path))
	}
	folder, brought := p.Loaded.Folder, app.WhatIsBrought(place, p.Loaded.Parts)
	if err := knownParts(ids, folder, brought.Parts); err != nil {
		return err
	}
	switch {
	case flags.revoke:
		return p.revokeTrust(folder, ids)
	case flags.list:
		return p.listTrust(folder, brought)
	}
	p.warnOf(brought.Problems)
	for i := range brought.Parts {
		brought.Parts[i].Except = flags.except
	}
	parts := unsettled(folder, brought.Parts, ids, flags.yes)
	if len(parts) == 0 {
		return p.nothingToTrust(folder, brought.Parts)
	}
	p.showParts(folder, parts, brought.Parts)
	return p.settle(ctx, flags.yes, parts)
}

// knownParts refuses an unknown part.
func knownParts(ids []string, folder *trust.Folder, parts []trust.Part) error {
	known := folder.AnsweredIDs()
	for _, each := range parts {
		known = append(known, each.ID())
	}
	for _, id := range ids {
		if slices.Contains(known, id) {
			continue
		}
		unknown := fault.New(fault.InvalidParams, "this folder has no part %q that must be trusted", fault.Cut(id, 100))
		if near := fault.Nearest(id, known); near != "" {
			return unknown.Hinted(fault.DidYouMean(visible.Line(near)))
		}
		return unknown.Hinted(fault.Hint{Call: "savant trust --list", Text: "lists its parts"})
	}
	return nil
}

// unsettled returns the parts to ask about: the named ones, or all, except accepted
// ones, unless programs of those are to be excepted. With --yes, a refused part stays refused unless it is named.
func unsettled(folder *trust.Folder, parts []trust.Part, ids []string, yes bool) []trust.Part {
	return slices.DeleteFunc(slices.Clone(parts), func(each trust.Part) bool {
		named, answer := slices.Contains(ids, each.ID()), folder.AnswerTo(each)
		settled := answer == trust.Accepted && (len(each.Except) == 0 || len(each.Programs) == 0)
		return settled || len(ids) > 0 && !named || answer == trust.Refused && yes && !named
	})
}

// warnOf reports what cannot be read in the folder, and so is not used.
func (p *program) warnOf(problems []error) {
	for _, each := range problems {
		fmt.Fprintf(p.Stderr, "savant: warning: %s\n", visible.Line(fault.From(each).Message()))
	}
}

func (p *program) nothingToTrust(folder *trust.Folder, parts []trust.Part) error {
	said := "Nothing here must be trusted.\n"
	refused := slices.ContainsFunc(parts, func(each trust.Part) bool { return folder.AnswerTo(each) == trust.Refused })
	switch {
	case refused:
		said = "There is nothing new. Refused parts stay refused unless you name them: savant trust --list shows them.\n"
	case len(parts) > 0:
		said = fmt.Sprintf("There is nothing new: %s trusted. For CI: %s=%s\n", terminal.Count(len(parts), "part"), settings.EnvTrust, trust.Digest(parts))
	}
	_, err := fmt.Fprint(p.Stdout, said)
	return err
}

// notes describe the current answer about a part.
var notes = map[trust.Answer]string{
	trust.Unsaid:  "",
	trust.Changed: " (changed since it was trusted)",
	trust.Refused: " (refused before)",
}

// showParts prints what the answer will be bound to, with the digest of all.
func (p *program) showParts(folder *trust.Folder, parts, all []trust.Part) {
	fmt.Fprintf(p.Stdout, "Savant does not use these parts of %s until you trust them:\n\n", visible.Line(folder.Path))
	for _, each := range parts {
		p.showPart(each, notes[folder.AnswerTo(each)])
	}
	fmt.Fprintf(p.Stdout, "The digest of all parts of the folder, for CI: %s=%s\n", settings.EnvTrust, trust.Digest(all))
}

// showPart prints one part: its name, its lines and its text.
func (p *program) showPart(part trust.Part, note string) {
	fmt.Fprintf(p.Stdout, "%s %s, of %s%s\n", part.Kind, visible.Line(part.Name), visible.Line(part.File), note)
	for _, line := range part.Shown {
		fmt.Fprintf(p.Stdout, "    %s\n", visible.Line(p.ownEyes(line)))
	}
	if part.Text != "" {
		fmt.Fprintln(p.Stdout, visible.Block(p.ownEyes(part.Text)))
	}
	fmt.Fprintln(p.Stdout)
}

// ownEyes redacts a text unless a person is at a terminal. There nothing may be hidden,
// since a command can be disguised as a secret. Elsewhere the output may be a log; the
// digest covers the omitted text.
func (p *program) ownEyes(text string) string {
	if terminal.IsTerminal(p.Stdin) || terminal.IsTerminal(p.Stdout) {
		return text
	}
	return redact.Shapes().Text(text)
}

// settle asks about the parts that were shown, and stores the answer.
func (p *program) settle(ctx context.Context, yes bool, parts []trust.Part) error {
	agreed, err := p.agrees(ctx, "Trust "+these(len(parts))+"?", yes)
	if errors.Is(err, errNobody) {
		fmt.Fprintf(p.Stderr, "savant: nothing was trusted, because this is no terminal; to trust the parts above: savant trust --yes, or set %s\n", settings.EnvTrust)
		return cli.StatusError(cli.ExitUsage)
	}
	if err != nil {
		return err
	}
	if !agreed {
		if err := p.Loaded.Folder.Refuse(parts...); err != nil {
			return err
		}
		fmt.Fprintln(p.Stderr, "savant: nothing was trusted, and Savant does not ask again by itself; savant trust asks again")
		return cli.StatusError(cli.ExitFailed)
	}
	if err := p.Loaded.Folder.Accept(parts...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "Trusted: %s. A running savant mcp uses it at once, except for settings and its instructions, which need a restart.\n",
		terminal.Count(len(parts), "part"))
	return err
}

func these(n int) string {
	if n == 1 {
		return "it"
	}
	return fmt.Sprintf("these %d parts", n)
}

// errNobody is returned without a terminal to ask at.
var errNobody = errors.New("nobody can be asked")

// agrees asks a yes-or-no question. The error is errNobody, or APPROVAL_REQUIRED
// without an answer.
func (p *program) agrees(ctx context.Context, question string, yes bool) (bool, error) {
	if yes {
		return true, nil
	}
	if !terminal.IsTerminal(p.Stdin) {
		return false, errNobody
	}
	agreed, err := terminal.Confirm(ctx, p.Stdin, p.Stdout, question)
	if err != nil {
		return false, fault.New(fault.ApprovalRequired, "nothing was answered, and nothing was accepted")
	}
	return agreed, nil
}

// listedPart is a part in `savant trust --list --json`.
type listedPart struct {
	trust.Part
	Answer trust.Answer `json:"answer"`
}

func (p *program) listTrust(folder *trust.Folder, brought app.Brought) error {
	list := []listedPart{}
	for _, each := range brought.Parts {
		each.Text, each.Shown = "", slices.Clone(each.Shown)
		for i := range each.Shown {
			each.Shown[i] = p.ownEyes(each.Shown[i])
		}
		list = append(list, listedPart{each, folder.AnswerTo(each)})
	}
	if p.JSON {
		problems := []*fault.Error{}
		for _, each := range brought.Problems {
			problems = append(problems, fault.From(each))
		}
		return p.Print(map[string]any{"folder": folder.Path, "digest": trust.Digest(brought.Parts), "parts": list, "problems": problems})
	}
	p.warnOf(brought.Problems)
	if len(list) == 0 {
		fmt.Fprintln(p.Stderr, "nothing here must be trusted")
	}
	return terminal.Table(p.Stdout, []string{"PART", "TRUSTED", "WHAT", "DIGEST"}, list, func(each listedPart) []string {
		digest := ""
		if each.Answer == trust.Accepted {
			digest = each.Digest
		}
		return []string{visible.Line(each.ID()), string(each.Answer), visible.Line(fault.Cut(strings.TrimSuffix(strings.Join(each.Shown, "; "), ":"), 200)), digest}
	})
}

func (p *program) revokeTrust(folder *trust.Folder, ids []string) error {
	gone, err := folder.Forget(ids...)
	if err != nil {
		return err
	}
	if p.JSON {
		return p.Print(map[string]any{"folder": folder.Path, "forgotten": gone})
	}
	_, err = fmt.Fprintf(p.Stdout, "Forgot the answers about %s of %s.\n", terminal.Count(gone, "part"), visible.Line(folder.Path))
	return err
}
