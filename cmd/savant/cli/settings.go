package cli

import (
	"cmp"
	"strings"

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
			if len(row.Allowed) > 0 {
				_ = root.RegisterFlagCompletionFunc(row.Flag, cobra.FixedCompletions(row.Allowed, cobra.ShellCompDirectiveNoFileComp)) // as below
			}
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

// asTyped returns an error that begins with the name of a setting with what was typed
// instead: its flag, or --set and its key.
func (p *Program) asTyped(failure *fault.Error) *fault.Error {
	if p.Flags == nil {
		return failure
	}
	for _, row := range settings.Table() {
		rest, ok := strings.CutPrefix(failure.Details, cmp.Or(row.Env, row.Key))
		if !ok || !strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, " ") {
			continue
		}
		if flag := FlagOf(p.Flags, row); flag != "" {
			renamed := *failure
			renamed.Details = flag + rest
			return &renamed
		}
		break
	}
	return failure
}

// FlagOf returns what gave a setting on the command line: its own flag, or --set and its
// key; "" for neither.
func FlagOf(flags *pflag.FlagSet, row settings.Setting) string {
	if flag := flags.Lookup(row.Flag); flag != nil && flag.Changed && flag.Value.Type() == "string" {
		return "--" + row.Flag
	}
	texts, _ := flags.GetStringArray(assign)
	assigned, _ := settings.Assignments(texts) // SettingsOf reports an error
	if _, ok := assigned[row.Key]; ok {
		return "--" + assign + " " + row.Key
	}
	return ""
}
