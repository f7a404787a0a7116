package commands

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"savant/cmd/savant/cli"
	"savant/fault"
	"savant/internal/settings"
)

// group is a part of the list of commands.
type group struct {
	title    string
	commands []string
}

// groups are the commands as help lists them, by what a person wants. A command that none
// names is for programs, or for the shell.
func groups() []group {
	return []group{
		{"Guide a model through a procedure:", []string{"workflows", "approve", "runs", "show", "explain", "verify", "cancel", "proof", "rules", "demo"}},
		{"Let the agent work:", []string{"run", "review", "reasoning", "work"}},
		{"Begin a project:", []string{"init", "adopt", "trust"}},
		{"Connect a client:", []string{"setup", "doctor", "mcp", "tools", "call"}},
		{"Operate:", []string{"state", "hub", "token", "engines"}},
	}
}

// withHelp gives the root its own help, and help about settings.
func withHelp(root *cobra.Command) {
	shownBy := []string{"explain", "cancel"} // the line of show names them
	var list strings.Builder
	for _, group := range groups() {
		fmt.Fprintln(&list, group.title)
		for _, name := range group.commands {
			for _, each := range root.Commands() {
				if each.Name() == name && !slices.Contains(shownBy, name) {
					fmt.Fprintf(&list, "  %-10s %s\n", name, each.Short)
				}
			}
		}
	}
	lineEnd := regexp.MustCompile(`(\S)\n(\S)`) // within a paragraph
	root.PersistentFlags().VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	root.SetHelpFunc(func(command *cobra.Command, _ []string) {
		if command != root {
			about := lineEnd.ReplaceAllString(cmp.Or(command.Long, command.Short), "$1 $2")
			io.WriteString(command.OutOrStdout(), folded(about+"\n\n"+command.UsageString()))
			return
		}
		fmt.Fprintf(command.OutOrStdout(), "%s.\nUsage: savant COMMAND [flags]\n%ssavant COMMAND --help explains a command, savant help settings the settings.\n", root.Short, list.String())
	})
	root.InitDefaultHelpCmd()
	for _, each := range root.Commands() {
		if each.Name() != "help" {
			continue
		}
		help := each.Run
		each.Run = nil
		each.RunE = func(command *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "settings" {
				return helpSettings(command.OutOrStdout(), args[1:])
			}
			if found, rest, err := root.Find(args); err != nil || len(rest) > 0 {
				return cli.UnknownCommand(found, args[len(args)-max(len(rest), 1)], "settings")
			}
			help(command, args)
			return nil
		}
	}
}

// folded breaks the lines that are longer than a terminal of 80 columns at spaces. What
// follows is indented as the line is, or as the text of the line's last column.
func folded(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		begin := strings.LastIndex(line, "  ") + len("  ")
		if begin < len("  ") || begin > 50 {
			begin = 0
		}
		indent := strings.Repeat(" ", utf8.RuneCountInString(line[:begin]))
		for rest := []rune(strings.TrimRight(line, "\n")); ; {
			end := len(rest)
			if end > 80 {
				end = 80
				for end > len(indent) && rest[end] != ' ' {
					end--
				}
				if end == len(indent) { // one long word
					end = len(rest)
				}
			}
			out.WriteString(string(rest[:end]) + "\n")
			if end == len(rest) {
				break
			}
			rest = append([]rune(indent), rest[end+1:]...)
		}
	}
	return out.String()
}

// helpSettings names all settings by their first word, or describes those that a name
// means: a key, its beginning, a variable or a flag.
func helpSettings(out io.Writer, names []string) error {
	table := settings.Table()
	if len(names) == 0 {
		fmt.Fprintln(out, "A setting is given by its variable, by its key in the file of settings, or by\n--set KEY=VALUE. savant help settings NAME describes one, or all that\nbegin so. The keys:")
		var sections []string
		below := map[string][]string{}
		for _, row := range table {
			section, rest, nested := strings.Cut(row.Key, ".")
			if !nested {
				section, rest = "", row.Key
			}
			if below[section] == nil {
				sections = append(sections, section)
			}
			below[section] = append(below[section], rest)
		}
		for _, section := range sections {
			line := strings.TrimSuffix("  "+section, " ")
			for _, rest := range below[section] {
				if len(line)+len(rest) > 76 {
					fmt.Fprintln(out, line)
					line = "   "
				}
				line += " " + rest
			}
			fmt.Fprintln(out, line)
		}
		return nil
	}
	said := 0
	for _, row := range table {
		name := strings.TrimPrefix(names[0], "--")
		if row.Key != name && !strings.HasPrefix(row.Key, name+".") && row.Env != name && row.Flag != name {
			continue
		}
		said++
		fmt.Fprintf(out, "%s\n%s", row.Key, folded("  "+row.Doc))
		for _, line := range [][2]string{{"variable", row.Env}, {"flag", flagOf(row)}, {"values", strings.Join(row.Allowed, ", ")}, {"default", row.Default}} {
			if line[1] != "" {
				fmt.Fprintf(out, "  %s: %s\n", line[0], line[1])
			}
		}
	}
	if said > 0 {
		return nil
	}
	var keys []string
	for _, row := range table {
		keys = append(keys, row.Key, row.Env)
	}
	return fault.New(fault.InvalidParams, "no setting is named %q; savant help settings lists them", fault.Cut(names[0], 100)).Hinted(fault.HintOf(names[0], keys))
}

func flagOf(row settings.Setting) string {
	if row.Flag == "" {
		return ""
	}
	return "--" + row.Flag
}

// versionCommand is `savant version`.
func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Say which version this is", Args: cli.Positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.Stdout, "savant "+p.World.Version)
			return err
		}}
}
