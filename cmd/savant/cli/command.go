package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
)

// OnApp returns the function of a command that works on the opened program.
func (p *Program) OnApp(work func(ctx context.Context, a *app.App, args []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		ctx := command.Context()
		return p.With(ctx, func(a *app.App) error { return work(ctx, a, args) })
	}
}

// OnLook is OnApp for a command that only reads.
func (p *Program) OnLook(work func(ctx context.Context, a *app.App, args []string) error) func(*cobra.Command, []string) error {
	return p.Look(&cobra.Command{RunE: p.OnApp(work)}).RunE
}

// Look makes a command one that only reads.
func (p *Program) Look(command *cobra.Command) *cobra.Command {
	run := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		p.Open.Looking = true
		return run(command, args)
	}
	return command
}

// JSONFlag adds the flag --json to a command and returns the command.
func (p *Program) JSONFlag(command *cobra.Command) *cobra.Command {
	command.Flags().BoolVar(&p.JSON, "json", false, "print the result, or the error, as JSON on stdout")
	return command
}

// Printed writes a call's result to stdout as JSON. If err is not nil, it only returns
// err.
func (p *Program) Printed(result any, err error) error {
	if err != nil {
		return err
	}
	return p.Print(result)
}

// Group is a command that only has subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: use, Short: short}
	command.AddCommand(commands...)
	NeedSubcommand(command)
	return command
}

// NeedSubcommand makes a command refuse to run without one of its subcommands.
func NeedSubcommand(command *cobra.Command) {
	command.Args = cobra.ArbitraryArgs
	command.RunE = func(command *cobra.Command, args []string) error {
		if len(args) > 0 {
			return UnknownCommand(command, args[0])
		}
		return UsageError(command.CommandPath() + ": which of " + strings.Join(names(command), ", ") + "?")
	}
}

// UnknownCommand returns the error for an unknown subcommand of a group, which takes other
// words too.
func UnknownCommand(command *cobra.Command, name string, others ...string) error {
	known := append(names(command), others...)
	message := "unknown command \"" + terminal.Visible(name) + "\" for " + command.CommandPath()
	meant := fault.NearestHint(", did you mean %s?", name, known)
	for _, group := range command.Commands() {
		if slices.Contains(names(group), name) && group.IsAvailableCommand() {
			meant = ", did you mean " + group.CommandPath() + " " + name + "?"
		}
	}
	return UsageError(message + meant + "; known: " + strings.Join(known, ", "))
}

func names(command *cobra.Command) []string {
	var known []string
	for _, each := range command.Commands() {
		if each.IsAvailableCommand() {
			known = append(known, each.Name())
		}
	}
	return known
}

// Positional checks the number of arguments; its error says which is missing, or one too
// many, and shows the usage.
func Positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		err := check(command, args)
		if err == nil {
			return nil
		}
		said := err.Error()
		if len(args) == 1 && len(command.ValidArgs) > 0 && !slices.Contains(command.ValidArgs, args[0]) {
			return Choice(command.CommandPath(), args[0], command.ValidArgs...)
		}
		_, usage, _ := strings.Cut(command.Use, " ")
		usage, _, _ = strings.Cut(usage, "[-") // flags
		switch words := strings.Fields(usage); {
		case len(args) > len(words):
			said = fmt.Sprintf("unexpected argument %q", fault.Cut(args[len(words)], 100))
		case len(args) < len(words) && !strings.ContainsAny(words[len(args)], "[{-"):
			said = words[len(args)] + " is missing"
		}
		return UsageError(said + "; usage: " + command.UseLine())
	}
}

// Choice refuses a value that is not among the known values, and names the nearest one.
func Choice(name, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	last := len(known) - 1
	return UsageError(name + " " + terminal.Visible(value) + ": expected " + strings.Join(known[:last], ", ") + " or " + known[last] +
		fault.NearestHint("; did you mean %s?", value, known))
}

// ErrLimit refuses a limit below 1.
const ErrLimit = UsageError("--limit: expected a number from 1")
