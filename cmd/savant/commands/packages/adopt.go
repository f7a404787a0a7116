package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/adopt"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines/ci"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/think"
	"savant/think/flow"
)

// maxAdopted bounds a document and a file of commands, in bytes.
const maxAdopted = 1 << 20

// AdoptCommand is `savant adopt`.
func AdoptCommand(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	var name string
	var yes bool
	command := &cobra.Command{Use: "adopt FILE", Short: "Make a workflow of a skill, a page, jobs of Actions or a flowchart",
		Long: "Make workflows/NAME.yaml of a procedure, without a model: SKILL.md and other Markdown, .yml of GitHub Actions,\n" +
			"flowcharts in .mmd (Mermaid) and .dot. Each step quotes the words that it carries out, and the report says of every\n" +
			"heading, item, sentence, row, code block, node and arrow whether it is enforced, asked of the model or left out, and why.\n" +
			"Commands of code blocks are printed; --yes adds them to " + ci.File + ", untrusted like any others and replacing none.",
		Example: "  savant adopt skills/release/SKILL.md\n  savant adopt .github/workflows/ci.yml -o pipeline --json",
		Args:    cli.Positional(cobra.ExactArgs(1)),
		RunE:    p.OnApp(func(ctx context.Context, a *app.App, args []string) error { return p.adopt(ctx, a, args[0], name, yes) })}
	command.Flags().StringVarP(&name, "output", "o", "", "the name of the workflow; without it that of the document")
	command.Flags().BoolVar(&yes, "yes", false, "add the commands of the document to "+ci.File)
	return p.JSONFlag(command)
}

// adopted is the output of adopt --json.
type adopted struct {
	Workflow  string          `json:"workflow"`
	File      string          `json:"file"`
	Kind      string          `json:"kind"`
	Steps     int             `json:"steps"`
	Sentences []adopt.Unit    `json:"sentences"`
	Commands  []adopt.Command `json:"commands"`
	// Rules is the file of rules that was written; empty for none.
	Rules string `json:"rules,omitempty"`
	// Added are the commands that were written into .savant/ci.yaml.
	Added []string `json:"added"`
}

func (p *program) adopt(ctx context.Context, a *app.App, file, name string, yes bool) error {
	text, err := p.Read("FILE", file, maxAdopted)
	if err != nil {
		return err
	}
	draft, err := adopt.Read(filepath.ToSlash(file), text, flow.ReadForeignYAML)
	if err != nil {
		return err
	}
	if name != "" {
		draft.Name = name
	}
	target := "workflows/" + draft.Name + ".yaml"
	if _, err := a.Root.Lstat(target); err == nil {
		return fault.New(fault.IDCollision, "%s exists: name another workflow with -o", target)
	}
	added, commands, err := withCommands(a, draft, yes)
	if err != nil {
		return err
	}
	written := draft.Workflow(relativePath(a, file))
	out, err := a.Think.Validate(ctx, think.ValidateInput{WorkflowYAML: string(written)})
	if err != nil {
		return err
	}
	if !out.Valid {
		return fault.New(fault.ValidationFailed, "%s cannot be made a workflow: %s", file, out.Errors[0].Message).With(out.Errors...)
	}
	report := adopted{Workflow: draft.Name, File: target, Kind: draft.Kind, Steps: len(draft.Steps), Sentences: draft.Units, Commands: append([]adopt.Command{}, draft.Commands...), Added: added}
	if forbids := draft.RuleFile(); forbids != nil {
		report.Rules = "rules/" + draft.Name + ".yaml"
		if _, err := a.Root.Lstat(report.Rules); err == nil {
			return fault.New(fault.IDCollision, "%s exists: name another workflow with -o", report.Rules)
		}
		if err := place(a, report.Rules, forbids); err != nil {
			return err
		}
	}
	if err := place(a, target, written); err != nil {
		return err
	}
	if len(added) > 0 {
		if err := place(a, ci.File, commands); err != nil {
			return err
		}
	}
	if p.JSON {
		return p.Print(report)
	}
	return p.showAdopted(report)
}

// place writes a file in a folder of the project.
func place(a *app.App, name string, data []byte) error {
	if err := ownfolder.MkdirAll(a.Root, path.Dir(name)); err != nil {
		return err
	}
	if err := atomicfile.Write(a.Root, name, data, 0o644); err != nil {
		return ownfolder.NotSaved(name, err)
	}
	return nil
}

// relativePath returns the path of a file relative to SAVANT_PATH, or "" if it lies elsewhere.
func relativePath(a *app.App, file string) string {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	relative, err := filepath.Rel(a.Path, absolute)
	if err != nil || !filepath.IsLocal(relative) {
		return ""
	}
	return filepath.ToSlash(relative)
}

// withCommands returns .savant/ci.yaml with the commands of a draft, and which were added; or it
// makes tasks of those that the file does not have. Without such a file the steps name
// commands that a person may add.
func withCommands(a *app.App, draft *adopt.Draft, yes bool) (added []string, file []byte, err error) {
	added = []string{}
	present, err := regular.ReadFile(a.Root, ci.File, maxAdopted)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, nil, ownfolder.NotRead(ci.File, err)
	}
	value, err := flow.ReadYAML(ci.File, present)
	if err != nil && !missing {
		return nil, nil, err
	}
	root, _ := value.(map[string]any)
	known, _ := root["commands"].(map[string]any)
	if !yes {
		if !missing {
			draft.Decline(known)
		}
		return added, nil, nil
	}
	fresh := slices.DeleteFunc(slices.Clone(draft.Commands), func(each adopt.Command) bool { _, has := known[each.Name]; return has })
	if len(fresh) == 0 {
		return added, nil, nil
	}
	text := strings.TrimLeft(strings.TrimRight(string(present), "\n")+"\n", "\n")
	if root["commands"] == nil {
		text += "commands:\n"
	}
	text += string(adopt.CommandFile(fresh))
	value, err = flow.ReadYAML(ci.File, []byte(text))
	root, _ = value.(map[string]any)
	now, _ := root["commands"].(map[string]any)
	if err != nil || len(now) != len(known)+len(fresh) { // it indents otherwise, goes on behind the commands, or has them in one line
		return nil, nil, fault.New(fault.InvalidParams, "%s is written so that nothing can be added at its end: add these yourself:\n%s", ci.File, adopt.CommandFile(fresh))
	}
	for _, each := range fresh {
		added = append(added, each.Name)
	}
	return added, []byte(text), nil
}

// showAdopted prints what became of each part of the document.
func (p *program) showAdopted(report adopted) error {
	counts := map[string]int{}
	for _, each := range report.Sentences {
		counts[each.Verdict]++
	}
	err := terminal.Table(p.Stdout, []string{"LINE", "VERDICT", "STEP", "TEXT", "WHY"}, report.Sentences, func(each adopt.Unit) []string {
		return []string{fmt.Sprint(each.Line), each.Verdict, each.Step, fault.Cut(terminal.Visible(each.Text), 60), each.Why}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "\n%s: %s; %d enforced, %d asked, %d left out\n", report.File, terminal.Count(report.Steps, "step"), counts[adopt.Enforced], counts[adopt.Asked], counts[adopt.LeftOut])
	if len(report.Commands) > 0 && len(report.Added) == 0 {
		fmt.Fprintf(p.Stdout, "\nIts commands, for %s (--yes adds them):\n\ncommands:\n%s", ci.File, terminal.Content(string(adopt.CommandFile(report.Commands))))
	}
	if len(report.Added) > 0 {
		fmt.Fprintf(p.Stdout, "Added to %s: %s. They are used after savant trust.\n", ci.File, strings.Join(report.Added, ", "))
	}
	if report.Rules != "" {
		fmt.Fprintf(p.Stdout, "What it forbids to call stands in %s.\n", report.Rules)
	}
	fmt.Fprintf(p.Stdout, "Next: savant workflows validate %s\n", report.Workflow)
	return nil
}
