package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"savant/fault"
	"savant/internal/redact"
	"savant/internal/settings"
)

// program is one run of the command line: the world it sees, and what it was
// told.
type program struct {
	environment []string
	stdin       io.Reader
	stdout      *output
	stderr      io.Writer
	settings    settings.Settings
	loaded      *settings.Loaded // the same, with where each value is from
	// command is what was run: "savant state list".
	command string
	// json makes results and errors JSON on stdout.
	json bool
	// lines: what is JSON on stdout is one line each.
	lines bool
	// attended: a command may ask the person at the terminal about calls.
	attended bool
	// described has what git knows, where a run has asked for it already; once.
	described <-chan description
	// clean takes secrets out, once it was asked for: see redactor.
	clean *redact.Redactor
	// engines fills the registry of the house.
	engines furnishing
	// serving: the command answers clients until it is told to end.
	serving bool
}

// furnishing puts the engines of a house into its registry.
type furnishing func(*house, settings.Settings) error

// newProgram returns a program in its world, with the engines it has.
func newProgram(environment []string, stdin io.Reader, stdout, stderr io.Writer, engines furnishing) *program {
	return &program{environment: environment, stdin: stdin, stdout: &output{Writer: stdout}, stderr: stderr, engines: engines}
}

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args, environment []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newProgram(environment, stdin, stdout, stderr, (*house).addEngines).run(ctx, args)
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

// ended is the exit code that a command's own becomes where nobody got what it
// said, or where a signal ended it before it was done.
func (p *program) ended(ctx context.Context, code int) int {
	if code == exitFailed && ctx.Err() != nil {
		return exitInterrupted
	}
	if code != exitOK || p.serving || p.stdout.failed() == nil { // a client may leave when it likes
		return code
	}
	if !p.stdout.unread() {
		fmt.Fprintf(p.stderr, "savant: stdout could not be written to: %v\n", p.stdout.failed())
	}
	return exitFailed
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "savant",
		Short: "Makes a language model follow a procedure exactly, and proves that it did",
		Long: "Savant makes a language model follow a procedure exactly, and proves that it did.\n\n" +
			"With MCP_SERVICE set and no arguments it serves MCP on its standard streams, as `savant mcp` does.",
		Version:           programVersion(),
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
		return misconfigured(err)
	}
	p.settings, p.loaded = loaded.Settings, loaded
	return nil
}

// withoutCommand serves when MCP clients start the program bare, and tells a
// person what there is otherwise.
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
	message := "unknown command \"" + visible(name) + "\" for " + command.CommandPath()
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

// jsonFlag lets a command answer in JSON.
func (p *program) jsonFlag(command *cobra.Command) {
	command.Flags().BoolVar(&p.json, "json", false, "print the result, or the error, as JSON on stdout")
}

// variable returns an environment variable.
func (p *program) variable(name string) (string, bool) {
	for i := len(p.environment) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(p.environment[i], "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// isTerminal says whether a stream is one that a person sits at.
func isTerminal(stream any) bool {
	if out, ok := stream.(*output); ok {
		stream = out.Writer
	}
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// coloured says whether to write colours to a stream.
func (p *program) coloured(stream any) bool {
	plain, set := p.variable("NO_COLOR")
	kind, _ := p.variable("TERM")
	return isTerminal(stream) && (!set || plain == "") && kind != "dumb"
}
