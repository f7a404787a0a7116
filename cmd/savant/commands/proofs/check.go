package proofs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"savant"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/gitrun"
	"savant/proof"
)

// notes is where git keeps proofs beside commits.
const notes = "refs/notes/savant"

// checking is what the flags of `savant proof check` ask for.
type checking struct {
	trusted
	commit, workflow, base, format string
	require                        []string
}

func (p *program) checkCommand() *cobra.Command {
	var in checking
	command := &cobra.Command{Use: "check [FILE.proof…]", Short: "Check that a proof covers a commit, for CI",
		Long: "Check that one of the proofs covers a commit: it verifies, is about the commit, and each required step is known and not older\n" +
			"than the last step that writes. Without a file the commit's note under " + notes + " is taken. Exit code 1 and the reasons if\n" +
			"no proof does.",
		Example: "  savant proof check --commit $(git rev-parse HEAD) --workflow review_v1 \\\n    --require tests=gateway --base origin/main --format github \\\n    --allowed-signers /etc/ci/allowed release.proof",
		Args:    cli.Positional(cobra.ArbitraryArgs),
		RunE: func(command *cobra.Command, args []string) error {
			return p.check(command.Context(), args, in)
		}}
	in.flags(command)
	flags := command.Flags()
	flags.StringVar(&in.commit, "commit", "", "the commit, whole")
	flags.StringVar(&in.workflow, "workflow", "", "the workflow that must have been followed")
	flags.StringSliceVar(&in.require, "require", nil, "a step that must be known, STEP or STEP=GRADE; may be repeated")
	flags.StringVar(&in.base, "base", "", "the branch whose workflows count; a proof of another version of one does not do")
	flags.StringVar(&in.format, "format", "text", "text, github, sarif or markdown")
	return command
}

func (p *program) check(ctx context.Context, files []string, in checking) error {
	if err := cli.Choice("--format", in.format, "text", "github", "sarif", "markdown"); err != nil {
		return err
	}
	if !proof.IsCommit(in.commit) {
		return cli.UsageError("--commit: name the commit that a proof has to cover, whole as git rev-parse prints it")
	}
	demand := proof.Demand{Commit: in.commit, Workflow: in.workflow}
	for _, each := range in.require {
		required, ok := proof.ParseRequirement(each)
		if !ok {
			return cli.UsageError("--require: expected STEP or STEP=GRADE, got " + terminal.Visible(each))
		}
		demand.Required = append(demand.Required, required)
	}
	if in.base != "" {
		if _, ok, err := git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", in.base+"^{commit}"); err != nil || !ok {
			return cmp.Or(err, error(fault.New(fault.InvalidParams, "--base: git knows no branch %s here: fetch it first, with git fetch origin BRANCH", terminal.Visible(in.base))))
		}
		demand.Source = baseBranch{ctx, in.base}
	}
	trust, err := p.trust(in.trusted)
	if err != nil {
		return err
	}
	proofs, err := p.proofsOf(ctx, files, in.commit)
	if err != nil {
		return err
	}
	var found []fault.Diagnostic
	for _, each := range proofs {
		engine := replayer()
		report := proof.Verify(ctx, each.content, trust, engine)
		engine.Close()
		lacks, err := demand.Check(report)
		if err != nil {
			return err
		}
		if len(lacks) == 0 {
			return p.conclude(in, &report, each.name, nil)
		}
		for _, lack := range lacks {
			lack.File = each.name
			found = append(found, lack)
		}
	}
	if len(proofs) == 0 {
		found = append(found, fault.Diagnostic{Code: proof.NotCovered, Message: "no proof was given, and the commit has no note under " + notes})
	}
	return p.conclude(in, nil, "", found)
}

// named content of a proof.
type givenProof struct {
	name    string
	content []byte
}

// proofsOf reads the files, or the note of a commit: a proof a line.
func (p *program) proofsOf(ctx context.Context, files []string, commit string) (found []givenProof, err error) {
	for _, file := range files {
		content, err := p.ReadFile(file, proof.MaxFile)
		if err != nil {
			return nil, err
		}
		found = append(found, givenProof{file, content})
	}
	if len(files) > 0 {
		return found, nil
	}
	content, _, err := git(ctx, "notes", "--ref="+notes, "show", "--end-of-options", commit)
	for line := range bytes.Lines(content) { // git notes append and git notes merge put several under one commit
		if len(bytes.TrimSpace(line)) > 0 {
			found = append(found, givenProof{notes, line})
		}
	}
	return found, err
}

// git returns what a command of git says in the working folder; ok is false where git
// itself says no.
func git(ctx context.Context, args ...string) (content []byte, ok bool, err error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, false, fault.New(fault.InvalidParams, "the working folder is gone")
	}
	out, err := gitrun.Run(ctx, gitrun.Command{Folder: folder, Limit: proof.MaxFile, Args: args})
	if errors.As(err, new(*gitrun.Complaint)) {
		return nil, false, nil
	}
	return out.Data, err == nil && !out.Cut, err
}

// baseBranch has the workflows of a branch, and the bundled ones.
type baseBranch struct {
	ctx    context.Context
	branch string
}

// Text implements proof.Sources.
func (b baseBranch) Text(name, file string) (string, error) {
	content, ok, err := git(b.ctx, "show", "--end-of-options", b.branch+":./"+path.Join("workflows", path.Join("/", strings.TrimPrefix(file, "workflows/"))))
	if err != nil {
		return "", err
	}
	if !ok {
		if content, err = savant.Files.ReadFile("workflows/" + name + ".yaml"); err != nil {
			return "", nil //nolint:nilerr // no such workflow is bundled
		}
	}
	return string(content), nil
}

// conclude prints what was found. A report is that of the proof that does.
func (p *program) conclude(in checking, report *proof.Report, file string, found []fault.Diagnostic) (err error) {
	switch in.format {
	case "github":
		terminal.GitHub(p.Stdout, found)
	case "sarif":
		err = terminal.SARIF(p.Stdout, p.World.Version, found)
	case "markdown":
		err = p.markdown(in, report, found)
	}
	if in.format == "text" || in.format == "github" && report != nil {
		for _, each := range found {
			fmt.Fprintf(p.Stdout, "%s: %s: %s\n", terminal.Visible(cmp.Or(each.File, "no proof")), each.Code, terminal.Visible(each.Message))
		}
		if report != nil {
			fmt.Fprintf(p.Stdout, "%s: covers %s, steps %s\n", terminal.Visible(file), in.commit, counted(report.Counts))
			for _, each := range report.Limits {
				fmt.Fprintf(p.Stdout, "  not proven %s\n", terminal.Visible(each))
			}
		}
	}
	if err == nil && report == nil {
		return cli.StatusError(cli.ExitFailed)
	}
	return err
}

// asCode shows a text that may be of who made a file: no part of it is a cell, a link or the
// name of a person.
func asCode(text string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(terminal.Visible(cmp.Or(text, "none"))) + "`"
}

// markdown writes a comment for a pull request.
func (p *program) markdown(in checking, report *proof.Report, found []fault.Diagnostic) error {
	text := "**No proof covers " + in.commit + ".**\n\n| proof | reason | why |\n| --- | --- | --- |\n"
	for _, each := range found {
		text += "| " + asCode(each.File) + " | " + string(each.Code) + " | " + asCode(each.Message) + " |\n"
	}
	if report != nil {
		text = "**A proof covers " + in.commit + "**, steps " + counted(report.Counts) + ".\n\nNot proven:\n\n"
		for _, each := range report.Limits {
			text += "- " + terminal.Visible(each) + "\n"
		}
	}
	_, err := io.WriteString(p.Stdout, text)
	return err
}
