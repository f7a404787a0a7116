package commands

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"savant/cmd/savant/cli"
	"savant/test/golden"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

// TestTheDocumentListsEveryCommand writes the table of docs/configuration.md from the
// commands.
func TestTheDocumentListsEveryCommand(t *testing.T) {
	p := &program{&cli.Program{}}
	root := p.root()
	listed := append(groups(), group{title: "For programs, and for the shell:"})
	last := &listed[len(listed)-1]
	for _, each := range root.Commands() {
		named := slices.ContainsFunc(listed, func(g group) bool { return slices.Contains(g.commands, each.Name()) })
		if !named && !each.Hidden && each.Name() != "help" {
			last.commands = append(last.commands, each.Name())
		}
	}
	var page strings.Builder
	for _, group := range listed {
		fmt.Fprintf(&page, "%s\n\n| command | does |\n| --- | --- |\n", group.title)
		for _, name := range group.commands {
			command, _, err := root.Find([]string{name})
			require.NoError(t, err)
			writeCommand(&page, command)
		}
		page.WriteString("\n")
	}
	golden.Section(t, *update, "../../../docs/configuration.md", "commands", page.String())
}

// writeCommand writes a row for a command, or for each command below it.
func writeCommand(page *strings.Builder, command *cobra.Command) {
	if command.Hidden {
		return
	}
	if !command.HasAvailableSubCommands() || strings.Contains(command.Use, " ") {
		use := strings.TrimSuffix(command.CommandPath(), command.Name()) + command.Use
		fmt.Fprintf(page, "| `%s` | %s |\n", strings.ReplaceAll(use, "|", "\\|"), command.Short)
	}
	for _, each := range command.Commands() {
		writeCommand(page, each)
	}
}

// TestHelpOfCommandsFitsAScreen checks that no command's help needs more than 40 lines of
// 80 columns, and that no example had to be broken for that.
func TestHelpOfCommandsFitsAScreen(t *testing.T) {
	p := &program{&cli.Program{}}
	var check func(command *cobra.Command)
	check = func(command *cobra.Command) {
		var out strings.Builder
		command.SetOut(&out)
		require.NoError(t, command.Help())
		lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		assert.LessOrEqual(t, len(lines), 40, "%s --help:\n%s", command.CommandPath(), out.String())
		for _, line := range append(lines, strings.Split(command.Example, "\n")...) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 80, "%s --help: %s", command.CommandPath(), line)
		}
		for _, each := range command.Commands() {
			check(each)
		}
	}
	for _, each := range p.root().Commands() {
		if each.Name() != "completion" { // the shells' own words
			check(each)
		}
	}
}
