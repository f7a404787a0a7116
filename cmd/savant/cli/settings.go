package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"savant/fault"
	"savant/internal/settings"
)

// assign is the flag that sets any setting.
const assign = "set"

// SettingFlags adds the flags of settings to the root command: those of their own, and
// --set for all.
func SettingFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringArray(assign, nil, "set a setting: `KEY=VALUE`, with the keys that savant config show prints; may be repeated")
	var keys []string
	for _, row := range settings.Table() {
		keys = append(keys, row.Key+"=")
		if row.Flag != "" {
			flags.String(row.Flag, row.Default, row.Doc+" ["+row.Env+"]")
		}
	}
	_ = root.RegisterFlagCompletionFunc(assign, cobra.FixedCompletions(keys, cobra.ShellCompDirectiveNoSpace)) // it fails for unknown flags only
}

// SettingsOf returns the settings that were given as flags. A flag of its own takes
// precedence over --set. The error is a UsageError.
func SettingsOf(flags *pflag.FlagSet) (settings.Lookup, error) {
	texts, err := flags.GetStringArray(assign)
	if err != nil {
		return nil, err
	}
	assigned, err := settings.Assignments(texts)
	if err != nil {
		return nil, UsageError(fault.From(err).Message())
	}
	return func(row settings.Setting) (string, bool) {
		// Some commands have a flag of another type with the same name.
		if flag := flags.Lookup(row.Flag); flag != nil && flag.Changed && flag.Value.Type() == "string" {
			return flag.Value.String(), true
		}
		text, ok := assigned[row.Key]
		return text, ok
	}, nil
}
