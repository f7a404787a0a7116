package rules

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/ownfolder"
	"savant/rules/sessions"
)

// sets are the bundled sets of rules: NAME.yaml, which begins with "# NAME: what it is",
// and NAME.cases.yaml.
//
//go:embed sets
var sets embed.FS

// setNames lists the bundled sets.
func setNames() []string {
	var names []string
	files, _ := fs.Glob(sets, "sets/*.cases.yaml") // the pattern is valid
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".cases.yaml"))
	}
	return names
}

func (p *program) addCommand() *cobra.Command {
	long := "Write a bundled set of rules and its cases into rules/. No set holds before it is added, and the files are yours to change:\n"
	for _, name := range setNames() {
		text, _ := sets.ReadFile("sets/" + name + ".yaml") // a test reads each
		first, _, _ := strings.Cut(string(text), "\n")
		long += "\n  " + strings.Replace(strings.TrimPrefix(first, "# "), name+": ", fmt.Sprintf("%-18s ", name), 1)
	}
	return &cobra.Command{Use: "add SET", Short: "Write a bundled set of rules into rules/", Long: long, Args: cli.Positional(cobra.ExactArgs(1)), ValidArgs: setNames(),
		RunE: p.OnApp(func(_ context.Context, a *app.App, args []string) error {
			name := args[0]
			rules, err := sets.ReadFile("sets/" + name + ".yaml")
			if err != nil || strings.HasSuffix(name, ".cases") {
				return fault.New(fault.InvalidParams, "there is no bundled set %q: one of %s", fault.Cut(name, 60), strings.Join(setNames(), ", ")).Hinted(fault.HintOf(name, setNames()))
			}
			cases, err := sets.ReadFile("sets/" + name + ".cases.yaml")
			if err != nil {
				return fault.New(fault.Internal, "a set without cases: %w", err)
			}
			return p.writeRules(a.Root, ruleFile{name + ".cases.yaml", cases}, ruleFile{name + ".yaml", rules})
		})}
}

// ruleFile is a file in the folder of rules.
type ruleFile struct {
	name string
	text []byte
}

// writeRules writes files into the folder of rules, none if one of them is there. Rules
// hold once they are written, so they come last.
func (p *program) writeRules(root *os.Root, files ...ruleFile) error {
	for _, each := range files {
		stem := path.Join(sessions.Folder, strings.TrimSuffix(each.name, ".yaml"))
		for _, name := range []string{stem + ".yaml", stem + ".yml"} {
			if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				return fault.New(fault.InvalidParams, "%s is there already, and is not overwritten", name)
			}
		}
	}
	if err := root.Mkdir(sessions.Folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return app.Misconfigured(ownfolder.NotSaved(sessions.Folder, err))
	}
	for _, each := range files {
		name := path.Join(sessions.Folder, each.name)
		if err := atomicfile.Write(root, name, each.text, 0o644); err != nil {
			return app.Misconfigured(ownfolder.NotSaved(name, err))
		}
		fmt.Fprintf(p.Stdout, "Wrote %s.\n", terminal.Visible(name))
	}
	return nil
}
