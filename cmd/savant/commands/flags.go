package commands

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"savant/fault"
)

// What the errors of pflag tell, which cobra hands on.
type (
	unknownFlag  interface{ GetSpecifiedShortnames() string }
	invalidValue interface{ GetValue() string }
)

// wrongFlag says what is wrong with a flag in words of the command line: which
// was likely meant, and what a value has to be.
func wrongFlag(command *cobra.Command, err error) error {
	said := err.Error()
	var unknown unknownFlag
	var invalid invalidValue
	switch {
	case errors.As(err, &invalid):
		_, name, _ := strings.Cut(said, " for \"")
		_, name, _ = strings.Cut(name, "--") // after a short one: "-o, --output"
		name, _, _ = strings.Cut(name, "\" flag")
		if expected := expectedOf(command, name); expected != "" {
			said = fmt.Sprintf("--%s: expected %s, got %q", name, expected, fault.Cut(invalid.GetValue(), 100))
		}
	case errors.As(err, &unknown):
		if _, name, long := strings.Cut(said, "unknown flag: --"); long {
			if nearest := fault.Nearest(name, flagNames(command)); nearest != "" {
				said += ", did you mean --" + nearest + "?"
			}
		}
	}
	return usageError(said)
}

// expectedOf names what a flag takes, "" where a value of it says that better.
func expectedOf(command *cobra.Command, name string) string {
	flag := command.Flags().Lookup(name)
	if flag == nil {
		return ""
	}
	return map[string]string{"int": "a whole number", "bool": "true or false", outputFlag{}.Type(): "text, json or stream-json"}[flag.Value.Type()]
}

// flagNames are the flags that a command knows, its own and the settings, as its
// help lists them.
func flagNames(command *cobra.Command) []string {
	var known []string
	for line := range strings.Lines(command.LocalFlags().FlagUsages() + command.InheritedFlags().FlagUsages()) {
		if _, rest, ok := strings.Cut(line, "--"); ok {
			known = append(known, strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '[' || r == '\n' })[0])
		}
	}
	return known
}
