package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines/review"
	"savant/engines/workflow"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/regular"
	"savant/internal/visible"
)

// reviewWorkflow is the workflow of all reviews, headless and in clients.
const reviewWorkflow = "review_mr"

// reviewWanted is the review that a person asks for.
type reviewWanted struct {
	requestedRun
	base, project, jira, focus string
	output, file               string
	noTests, post              bool
	repo                       string
}

// ReviewCommand is `savant review`.
func ReviewCommand(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	want := reviewWanted{requestedRun: requestedRun{name: reviewWorkflow}}
	command := &cobra.Command{Use: "review [BRANCH|RANGE|NUMBER|ADDRESS]", Short: "Review a change with a model, and print the report",
		Long: "Review a branch, a range (main...feature), a pull or merge request by its number or address, or what is not committed.\n" +
			"The whole change is read in parts, each finding must quote it, and the report lists what was and was not read.\n" +
			"It needs a model (SLM_MODEL, LLM_MODEL or REASONING_API_URL), and waits without one; a client reviews with\n" +
			"the workflow review_mr.\n\n" +
			"Exit codes: 0 no changes are asked for, 1 changes are asked for. A review that failed never ends with 1, but with the code of its\n" +
			"error, or 3 if that has none; 8 it waits, 130 it was interrupted.",
		Example: "  savant review\n  savant review main...feature --output sarif --output-file review.sarif\n  savant review 12 --base origin/main",
		Args:    cli.Positional(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if err := cli.Choice("--output", want.output, "markdown", "json", "sarif"); err != nil {
				return err
			}
			lines := p.showSteps()
			asked := false
			err := p.With(command.Context(), func(a *app.App) (err error) {
				asked, err = p.review(command.Context(), a, want, strings.Join(args, ""), lines)
				return err
			})
			if err != nil {
				return p.failed(command.Context(), err)
			}
			if asked {
				return cli.StatusError(cli.ExitFailed)
			}
			return nil
		}}
	flags := command.Flags()
	flags.StringVar(&want.base, "base", "", "what a branch is compared with, from the point where it branched off (default main or master)")
	flags.StringVar(&want.repo, "repo", "", "the repository, a folder below the project (default the project)")
	flags.StringVar(&want.project, "project", "", "the project on the forge, owner/name")
	flags.StringVar(&want.jira, "jira", "", "the ticket of the change, such as PROJ-12, from a mounted Jira server")
	flags.StringVar(&want.focus, "focus", "", "what to look at, most important first")
	flags.BoolVar(&want.noTests, "no-tests", false, "do not run the project's tests")
	flags.BoolVar(&want.post, "post", false, "post the report as a comment of the request, after you confirm")
	flags.StringVar(&want.output, "output", "markdown", "markdown, json or sarif")
	flags.StringVar(&want.file, "output-file", "", "write the report to this file instead of stdout")
	want.runFlags(command)
	return command
}

// failed prints why there is no report, and returns the exit code: never the one for
// requested changes.
func (p *program) failed(ctx context.Context, err error) error {
	code := p.Report(err)
	unwritten := p.Stdout.Failed() != nil
	if unwritten && !p.Stdout.Unread() {
		fmt.Fprintf(p.Stderr, "savant: stdout could not be written to: %v\n", p.Stdout.Failed())
	}
	switch {
	case ctx.Err() != nil && (unwritten || code == cli.ExitFailed):
		code = cli.ExitInterrupted
	case unwritten || code == cli.ExitFailed:
		code = cli.ExitInvalid
	}
	return cli.StatusError(code)
}

// review reviews a change and prints the report. It reports whether changes are
// requested.
func (p *program) review(ctx context.Context, a *app.App, want reviewWanted, target string, lines *stepLines) (changesAsked bool, err error) {
	run, err := want.runID(ctx, a)
	if err != nil {
		return false, err
	}
	outcome, err := p.drive(ctx, a, workflow.Request{Workflow: reviewWorkflow, Params: want.params(target), RunID: run}, lines, false)
	if err != nil || outcome.Status != workflow.Done {
		if outcome != nil {
			outcome.Outputs = nil // the run made no report
			return false, p.conclude(outcome, lines)
		}
		return false, err
	}
	var outputs struct {
		Report   review.Report `json:"report"`
		Markdown string        `json:"markdown"`
	}
	if err := json.Unmarshal(outcome.Outputs, &outputs); err != nil || outputs.Markdown == "" {
		return false, fault.New(fault.Internal, "run %s of %s has no report that can be read: %w", outcome.RunID, reviewWorkflow, errors.Join(err))
	}
	text := []byte(outputs.Markdown)
	switch want.output {
	case "json":
		text, err = json.MarshalIndent(outputs.Report, "", "  ")
	case "sarif":
		text, err = outputs.Report.SARIF()
	}
	if err != nil {
		return false, fault.From(err)
	}
	if err := p.writeReport(want, text); err != nil {
		return false, err
	}
	PrintEnd(p.Program, outcome)
	return outputs.Report.Decision == "request_changes", nil
}

// writeReport writes a report to a file, whole or not at all, or to stdout.
func (p *program) writeReport(want reviewWanted, text []byte) error {
	text = append([]byte(strings.TrimRight(string(text), "\n")), '\n')
	if want.file != "" {
		folder, err := regular.OpenFolder(filepath.Dir(want.file))
		if err != nil {
			return cli.UsageError("--output-file: " + err.Error())
		}
		defer func() { _ = folder.Close() }() // it was only read
		return atomicfile.Write(folder, filepath.Base(want.file), text, 0o644)
	}
	if want.output == "markdown" {
		text = []byte(terminal.Content(string(text)))
	} else {
		text = visible.JSON(text)
	}
	_, err := p.Stdout.Write(text)
	return err
}

// params returns the parameters of the workflow; nil to continue a review.
func (w reviewWanted) params(target string) map[string]any {
	params := map[string]any{}
	for name, value := range map[string]string{"target": target, "base": w.base, "repo": w.repo, "project": w.project, "focus": w.focus} {
		if value != "" {
			params[name] = value
		}
	}
	if w.jira != "" {
		params["jira"] = map[string]any{"ticket_id": w.jira}
	}
	if w.noTests {
		params["run_tests"] = false
	}
	if w.post {
		params["post"] = true
	}
	if len(params) == 0 {
		return nil
	}
	return params
}
