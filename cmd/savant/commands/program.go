// Package commands is the command line: a file for each command. A command
// reads its flags, calls what does the work, and shows what came of it.
package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/settings"
)

// World is what a start of the program sees.
type World struct {
	// Version is what the linker was told; empty for what the Go tool knows.
	Version     string
	Environment []string
	Stdin       io.Reader
	Stdout      io.Writer
	Stderr      io.Writer
	// Engines fills the registry; nil for Savant's own engines.
	Engines func(*app.App) error
}

// Run is the whole program. It returns the exit code.
func Run(ctx context.Context, args []string, world World) int {
	world.Version = app.VersionOf(world.Version)
	p := &program{world: world, stdin: world.Stdin, stdout: &terminal.Output{Writer: world.Stdout}, stderr: world.Stderr}
	return p.run(ctx, args)
}

// program is one run of the command line: the world it sees, its settings and
// flags.
type program struct {
	world    World
	stdin    io.Reader
	stdout   *terminal.Output
	stderr   io.Writer
	settings settings.Settings
	loaded   *settings.Loaded // the same, with where each value is from
	// command is what was run: "savant state list".
	command string
	// json makes results and errors JSON on stdout.
	json bool
	// lines: what is JSON on stdout is one line each.
	lines bool
	// serving: the command answers clients until it is told to end.
	serving bool
	// open is what a command opens the program with, beside its world.
	open app.Options
}

// with runs work on the program put together, and takes it apart again.
func (p *program) with(ctx context.Context, work func(*app.App) error) error {
	options := p.open
	options.Version, options.Environment, options.Engines = p.world.Version, p.world.Environment, p.world.Engines
	options.Settings, options.Stderr, options.Serving = p.loaded, p.stderr, p.serving
	a, err := app.Open(ctx, options)
	if err != nil {
		return err
	}
	return errors.Join(work(a), a.Close(ctx))
}

func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	command, err := root.ExecuteContextC(ctx)
	p.command = command.CommandPath()
	return p.ended(ctx, p.report(err))
}

// ended returns the exit code of the program. It differs from the command's own
// where the output could not be written, or a signal ended the command.
func (p *program) ended(ctx context.Context, code int) int {
	if code == exitFailed && ctx.Err() != nil {
		return exitInterrupted
	}
	if code != exitOK || p.serving || p.stdout.Failed() == nil { // a client may leave when it likes
		return code
	}
	if !p.stdout.Unread() {
		fmt.Fprintf(p.stderr, "savant: stdout could not be written to: %v\n", p.stdout.Failed())
	}
	return exitFailed
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "savant",
		Short: "Makes a language model follow a procedure exactly, and proves that it did",
		Long: "Savant makes a language model follow a procedure exactly, and proves that it did.\n\n" +
			"With MCP_SERVICE set and no arguments it serves MCP on its standard streams, as `savant mcp` does.",
		Version:           p.world.Version,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: p.configure,
		RunE:              p.withoutCommand,
	}
	root.SetUsageTemplate(usageTemplate(root.UsageTemplate()))
	root.SetVersionTemplate("savant {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	for _, row := range settings.Table() {
		root.PersistentFlags().String(row.Flag, row.Default, row.Doc+" ["+row.Env+"]")
	}
	root.AddCommand(p.mcpCommand(), p.demoCommand(), p.toolsCommand(), p.callCommand(), p.enginesCommand(), p.generateCommand(), p.workflowsCommand(),
		p.approveCommand(), p.initCommand(), p.stateCommand(), p.verifyCommand(), p.agentCommand(), p.runsCommand(), p.reasoningCommand(), p.configCommand())
	helpForKnown(root)
	return root
}

// helpForKnown makes help of a command that there is not a mistake.
func helpForKnown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, each := range root.Commands() {
		if each.Name() != "help" {
			continue
		}
		help := each.Run
		each.Run = nil
		each.RunE = func(command *cobra.Command, args []string) error {
			if found, rest, err := root.Find(args); err != nil || len(rest) > 0 {
				return unknownCommand(found, args[len(args)-max(len(rest), 1)])
			}
			help(command, args)
			return nil
		}
	}
}

// usageTemplate names the settings in one line where the template would list them
// all: each is a flag of every command.
func usageTemplate(whole string) string {
	const list = "{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}"
	return strings.Replace(whole, "\n\nGlobal Flags:\n"+list, "\n\nEach setting is a flag, too: savant --help lists them, savant config show says what holds.", 1)
}

// configure reads the settings, before any command runs.
func (p *program) configure(command *cobra.Command, _ []string) error {
	loaded, err := settings.Load(func(row settings.Setting) (string, bool) {
		flag := command.Flags().Lookup(row.Flag)
		if flag == nil || !flag.Changed {
			return "", false
		}
		return flag.Value.String(), true
	}, func(row settings.Setting) (string, bool) { return p.variable(row.Env) })
	if err != nil {
		return app.Misconfigured(err)
	}
	p.settings, p.loaded = loaded.Settings, loaded
	return nil
}

// withoutCommand serves if a client has started the program with MCP_SERVICE, and
// prints the usage otherwise.
func (p *program) withoutCommand(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(command, args[0])
	}
	if p.settings.Given {
		return p.serve(command.Context())
	}
	command.SetOut(p.stderr)
	return errors.Join(command.Usage(), usageError("no command; set MCP_SERVICE to serve MCP"))
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(command, args[0])
			}
			return usageError(command.CommandPath() + ": which of " + strings.Join(names(command), ", ") + "?")
		}}
	command.AddCommand(commands...)
	return command
}

func unknownCommand(command *cobra.Command, name string) error {
	known := names(command)
	message := "unknown command \"" + terminal.Visible(name) + "\" for " + command.CommandPath()
	if nearest := fault.Nearest(name, known); nearest != "" {
		message += ", did you mean " + nearest + "?"
	}
	return usageError(message + "; known: " + strings.Join(known, ", "))
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

// positional checks the number of arguments and names the way to give them.
func positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			return usageError(err.Error() + "; usage: " + command.UseLine())
		}
		return nil
	}
}

// variable returns an environment variable.
func (p *program) variable(name string) (string, bool) {
	return app.Variable(p.world.Environment, name)
}

// print writes a value to stdout as one indented JSON document.
func (p *program) print(value any) error {
	text, err := terminal.Indented(value)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.stdout, text)
	return err
}
