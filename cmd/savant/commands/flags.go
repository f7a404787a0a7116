package commands

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands/agents"
	"savant/fault"
	"savant/internal/settings"
)

// expectedOf names the value that a flag of a type takes, if the value's own error does
// not.
var expectedOf = map[string]string{"int": "a whole number", "bool": "true or false", agents.OutputType: "text, json or stream-json"}

// wrongFlag rewrites a flag's error for people: which flag was probably meant, and what
// value it takes.
func wrongFlag(command *cobra.Command, err error) error {
	said := err.Error()
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var required *pflag.ValueRequiredError
	switch {
	case errors.As(err, &required):
		said += ": " + required.GetFlag().Usage
	case errors.As(err, &invalid):
		if expected := expectedOf[invalid.GetFlag().Value.Type()]; expected != "" {
			said = fmt.Sprintf("--%s: expected %s, got %q", invalid.GetFlag().Name, expected, fault.Cut(invalid.GetValue(), 100))
		}
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		name := unknown.GetSpecifiedName()
		if near := fault.NearestHint(", did you mean --%s?", name, flagNames(command)); near != "" {
			said += near
		} else {
			said = cmp.Or(settings.Instead(name), said)
		}
	}
	return cli.UsageError(said)
}

// flagNames returns the flags of a command, its own and the settings.
func flagNames(command *cobra.Command) []string {
	var known []string
	command.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
	return known
}
