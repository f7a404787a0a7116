package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"savant/cmd/savant/app"
	"savant/fault"
)

// onApp is what a command runs that works on the program put together.
func (p *program) onApp(work func(ctx context.Context, a *app.App, args []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		ctx := command.Context()
		return p.with(ctx, func(a *app.App) error { return work(ctx, a, args) })
	}
}

// jsonFlag lets a command answer in JSON, and returns it.
func (p *program) jsonFlag(command *cobra.Command) *cobra.Command {
	command.Flags().BoolVar(&p.json, "json", false, "print the result, or the error, as JSON on stdout")
	return command
}

// printed writes the result of a call to stdout as JSON. It does nothing but
// return err where there is one.
func (p *program) printed(result any, err error) error {
	if err != nil {
		return err
	}
	return p.print(result)
}

// expectedOf names what a flag of a type takes, where a value does not say that
// better.
var expectedOf = map[string]string{"int": "a whole number", "bool": "true or false", outputFlag{}.Type(): "text, json or stream-json"}

// wrongFlag says what is wrong with a flag in words of the command line: which
// was likely meant, and what a value has to be.
func wrongFlag(command *cobra.Command, err error) error {
	said := err.Error()
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid):
		if expected := expectedOf[invalid.GetFlag().Value.Type()]; expected != "" {
			said = fmt.Sprintf("--%s: expected %s, got %q", invalid.GetFlag().Name, expected, fault.Cut(invalid.GetValue(), 100))
		}
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		if nearest := fault.Nearest(unknown.GetSpecifiedName(), flagNames(command)); nearest != "" {
			said += ", did you mean --" + nearest + "?"
		}
	}
	return usageError(said)
}

// flagNames are the flags that a command knows, its own and the settings.
func flagNames(command *cobra.Command) []string {
	var known []string
	command.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
	return known
}
