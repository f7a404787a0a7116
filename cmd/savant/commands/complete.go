package commands

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/think"
	"savant/think/library"
)

// maxOffered is how many runs a shell is offered.
const maxOffered = 50

// withCompletion lets a shell complete the words of every command by its usage, and the
// values of flags by their names.
func (p *program) withCompletion(command *cobra.Command) {
	for _, each := range command.Commands() {
		p.withCompletion(each)
	}
	_, usage, _ := strings.Cut(command.Use, " ")
	if words := strings.Fields(usage); len(words) > 0 && command.ValidArgs == nil && command.ValidArgsFunction == nil {
		command.ValidArgsFunction = func(command *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			word := words[min(len(args), len(words)-1)]
			if len(args) >= len(words) && !strings.Contains(word, "…") {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.complete(command, strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("[]|…", r) })[0], args, typed)
		}
	}
	for flag, word := range map[string]string{"workflow": "WORKFLOW", "run-id": "RUN", "resume": "RUN", "param": "PARAM", "force-tool": "TOOL", "status": "STATUS"} {
		if command.Flags().Lookup(flag) != nil {
			_ = command.RegisterFlagCompletionFunc(flag, func(command *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				return p.complete(command, word, args, typed)
			}) // it fails for unknown flags only
		}
	}
}

// complete returns what a word of the usage may be; the shell completes files where Savant
// knows nothing.
func (p *program) complete(command *cobra.Command, word string, args []string, typed string) (found []string, directive cobra.ShellCompDirective) {
	p.Stderr = io.Discard
	if p.configure(command, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p.Open.Looking, directive = true, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder
	_ = p.With(command.Context(), func(a *app.App) (err error) { // a shell shows no error
		switch word {
		case "RUN":
			found, err = offeredRuns(command, a)
		case "STEP", "CHECKPOINT":
			found, err = offeredSteps(command.Context(), a, args)
		case "TOOL":
			found = a.Tools.Names()
		case "WORKFLOW", "NAME":
			if word == "WORKFLOW" || command.Parent().Name() == "workflows" {
				found = a.Think.Library.Names()
			} else if command.Name() == "tools" {
				found = a.Tools.Names()
			}
		case "STATUS":
			var all []app.Run
			all, err = a.Runs(command.Context(), app.OfWorkflow, app.OfAgent)
			for _, each := range all {
				found = append(found, each.Status)
			}
			slices.Sort(found)
			found = slices.Compact(found)
		case "PARAM":
			directive |= cobra.ShellCompDirectiveNoSpace
			found, err = offeredParams(command.Context(), a, args)
		default:
			directive = cobra.ShellCompDirectiveDefault
		}
		return err
	})
	return slices.DeleteFunc(found, func(each string) bool { return !strings.HasPrefix(each, typed) }), directive
}

// offeredRuns are the runs of the kind that a command takes, the last changed first.
func offeredRuns(command *cobra.Command, a *app.App) (found []string, err error) {
	kinds := []app.Kind{app.OfWorkflow, app.OfAgent}
	switch path := command.CommandPath(); {
	case path == "savant run":
		kinds = kinds[1:]
	case command.Flags().Lookup("answer") != nil, strings.HasPrefix(path, "savant state "), strings.HasPrefix(path, "savant workflows "), path == "savant proof", path == "savant review":
		kinds = kinds[:1]
	}
	all, err := a.Runs(command.Context(), kinds...)
	last := map[string]bool{}
	for _, each := range all {
		if each.Workflow != "" {
			last["@last:"+each.Workflow+"\tthe last run of "+each.Workflow] = true
		}
	}
	for _, each := range all[:min(len(all), maxOffered)] {
		about := each.Workflow + " " + each.Status
		if each.Kind == app.OfAgent {
			about = each.Status + ": " + each.Goal
		}
		found = append(found, each.RunID+"\t"+terminal.Visible(strings.Join(strings.Fields(about), " ")))
	}
	return append(append(found, "@last\tthe run that was started last"), slices.Sorted(maps.Keys(last))...), err
}

// offeredSteps are the steps of the run in args; those that wait come first.
func offeredSteps(ctx context.Context, a *app.App, args []string) (found []string, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	run, err := a.FindRun(ctx, "", args[0], app.OfWorkflow)
	if err != nil {
		return nil, err
	}
	state, err := a.Think.StateGet(ctx, think.StateGetInput{Workflow: run.Workflow, RunID: run.RunID, Limit: -1})
	if err != nil {
		return nil, err
	}
	found = slices.Clone(state.Outstanding)
	for _, each := range state.Snapshot.Steps {
		if !slices.Contains(found, each.ID) {
			found = append(found, each.ID)
		}
	}
	return found, nil
}

// offeredParams are the parameters of the workflow in args, each with its =.
func offeredParams(ctx context.Context, a *app.App, args []string) (found []string, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	read, err := a.Think.Library.Read(ctx, library.ReadInput{Workflow: args[0]})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(read.Params)) {
		found = append(found, name+"=")
	}
	return found, nil
}
