// Command manual writes the manual pages of savant's commands, and the files by which
// shells complete them, into a folder like /usr/share. Both are made from the commands
// themselves. The same sources give the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/commands"
	"savant/internal/settings"
)

func main() {
	version := flag.String("version", "", "the version that the pages name")
	date := flag.String("date", "", "the date that the pages bear")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: manual [-version VERSION] [-date DATE] FOLDER")
		os.Exit(2)
	}
	if err := write(commands.Tree(*version), *date, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write writes everything below a folder.
func write(root *cobra.Command, date, folder string) error {
	shells := map[string]func(string) error{
		"bash-completion/completions/savant":    func(name string) error { return root.GenBashCompletionFileV2(name, true) },
		"zsh/site-functions/_savant":            root.GenZshCompletionFile,
		"fish/vendor_completions.d/savant.fish": func(name string) error { return root.GenFishCompletionFile(name, true) },
		"powershell/savant.ps1":                 root.GenPowerShellCompletionFileWithDesc,
	}
	for name, generate := range shells {
		if err := inFolder(filepath.Join(folder, filepath.FromSlash(name)), generate); err != nil {
			return err
		}
	}
	return pages(root, date, filepath.Join(folder, "man", "man1"))
}

// inFolder writes a file, and makes the folder that it is in.
func inFolder(name string, write func(string) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return write(name)
}

// pages writes the page of a command, and of each one below it.
func pages(command *cobra.Command, date, folder string) error {
	for _, each := range listedCommands(command) {
		if err := pages(each, date, folder); err != nil {
			return err
		}
	}
	return inFolder(filepath.Join(folder, pageName(command)+".1"), func(name string) error {
		return os.WriteFile(name, []byte(page(command, date)), 0o644)
	})
}

// listedCommands returns the commands below one that help lists.
func listedCommands(command *cobra.Command) (list []*cobra.Command) {
	for _, each := range command.Commands() {
		if each.IsAvailableCommand() {
			list = append(list, each)
		}
	}
	return list
}

// pageName is the name of a command's page, as `man savant workflows` looks for it.
func pageName(command *cobra.Command) string {
	return strings.ReplaceAll(command.CommandPath(), " ", "-")
}

// page is the manual page of a command, in roff (man(7)).
func page(command *cobra.Command, date string) string {
	var text strings.Builder
	name, long := pageName(command), command.Long
	if long == "" {
		long = command.Short + "."
	}
	fmt.Fprintf(&text, ".TH %s 1 \"%s\" \"savant %s\" \"Savant\"\n", strings.ToUpper(roff(name)), date, roff(command.Root().Version))
	fmt.Fprintf(&text, ".SH NAME\n%s \\- %s\n", roff(name), roff(command.Short))
	fmt.Fprintf(&text, ".SH SYNOPSIS\n.B %s\n", roff(command.UseLine()))
	fmt.Fprintf(&text, ".SH DESCRIPTION\n%s\n", wrapText(long))
	asWritten(&text, "EXAMPLES", command.Example)
	asWritten(&text, "OPTIONS", command.LocalNonPersistentFlags().FlagUsagesWrapped(76))
	below := listedCommands(command)
	if len(below) > 0 {
		text.WriteString(".SH COMMANDS\n")
	}
	for _, each := range below {
		fmt.Fprintf(&text, ".TP\n.B %s\n%s\n", roff(each.Name()), roff(each.Short))
	}
	if command.HasParent() {
		below = append([]*cobra.Command{command.Parent()}, below...)
	} else {
		text.WriteString(".SH ENVIRONMENT\n")
		for _, row := range settings.Table() {
			fmt.Fprintf(&text, ".TP\n.B %s\n%s\n", roff(row.Env), roff(row.Doc))
		}
	}
	var see []string
	for _, each := range below {
		see = append(see, "\\fB"+roff(pageName(each))+"\\fR(1)")
	}
	fmt.Fprintf(&text, ".SH SEE ALSO\n%s\n", strings.Join(see, ",\n"))
	return text.String()
}

// asWritten writes a section whose lines stay as they are, if it has any.
func asWritten(text *strings.Builder, title, lines string) {
	if lines = strings.Trim(lines, "\n"); lines != "" {
		fmt.Fprintf(text, ".SH %s\n.nf\n%s\n.fi\n", title, roff(lines))
	}
}

// wrapText is a text of paragraphs; indented lines stay as they are.
func wrapText(text string) string {
	var lines []string
	literal := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, " ") != literal {
			literal = !literal
			lines = append(lines, map[bool]string{true: ".nf", false: ".fi"}[literal])
		}
		if line == "" {
			line = ".PP"
		} else {
			line = roff(line)
		}
		lines = append(lines, line)
	}
	if literal {
		lines = append(lines, ".fi")
	}
	return strings.Join(lines, "\n")
}

// roff escapes what roff would interpret, or print as another character.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`,
		"\n.", "\n\\&.").Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
