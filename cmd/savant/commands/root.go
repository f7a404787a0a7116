// Package commands is the command line, with a file or a package for each command. A
// command reads its flags, calls the packages that do the work, and prints the result.
package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands/agents"
	"savant/cmd/savant/commands/clients"
	"savant/cmd/savant/commands/hooks"
	"savant/cmd/savant/commands/packages"
	"savant/cmd/savant/commands/proofs"
	"savant/cmd/savant/commands/remote"
	"savant/cmd/savant/commands/rules"
	"savant/cmd/savant/commands/states"
	"savant/cmd/savant/commands/workflows"
	"savant/cmd/savant/terminal"
	"savant/internal/filelock"
	"savant/internal/settings"
)

// Run runs the program and returns its exit code.
func Run(ctx context.Context, args []string, world cli.World) int {
	world.Version = app.VersionOf(world.Version)
	p := &program{&cli.Program{World: world, Stdin: world.Stdin, Typed: new(terminal.Lines), Stdout: &terminal.Output{Writer: world.Stdout}, Stderr: world.Stderr}}
	return p.run(ctx, args)
}

// Tree returns all commands, for those who describe them; none of them can run.
func Tree(version string) *cobra.Command {
	p := &program{&cli.Program{World: cli.World{Version: version}}}
	return p.root()
}

// program is the command line in this package.
type program struct{ *cli.Program }

func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(spelledOut(root, args))
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	command, err := root.ExecuteContextC(filelock.WithNotice(ctx, p.TellHeld))
	p.Command = command.CommandPath()
	return p.exitCode(ctx, p.Report(err))
}

// exitCode returns the exit code of the program. It differs from the command's if the
// output could not be written or a signal ended the command.
func (p *program) exitCode(ctx context.Context, code int) int {
	if code == cli.ExitFailed && ctx.Err() != nil {
		return cli.ExitInterrupted
	}
	if code != cli.ExitOK || p.Serving || p.Stdout.Failed() == nil { // a client may leave at any time
		return code
	}
	if !p.Stdout.Unread() {
		fmt.Fprintf(p.Stderr, "savant: stdout could not be written to: %v\n", p.Stdout.Failed())
	}
	return cli.ExitFailed
}

// spelledOut writes out the commands that args begin with, each of which may be the only
// one that begins so.
func spelledOut(root *cobra.Command, args []string) []string {
	args = slices.Clone(args)
	for i, word := range args {
		var begun []*cobra.Command
		for _, each := range root.Commands() {
			if each.Name() == word || each.HasAlias(word) {
				begun = []*cobra.Command{each}
				break
			}
			if word != "" && each.IsAvailableCommand() && strings.HasPrefix(each.Name(), word) {
				begun = append(begun, each)
			}
		}
		if len(begun) != 1 {
			break
		}
		root, args[i] = begun[0], begun[0].Name()
	}
	return args
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "savant",
		Short: "Makes a language model follow a procedure exactly, and proves that it did",
		Long: "Savant makes a language model follow a procedure exactly, and proves that it did.\n\n" +
			"With MCP_SERVICE set and no arguments it serves MCP on its standard streams, as `savant mcp` does.",
		Version:           p.World.Version,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: p.configure,
		RunE:              p.withoutCommand,
	}
	root.SetUsageTemplate(usageTemplate(root.UsageTemplate()))
	root.SetVersionTemplate("savant {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	cli.SettingFlags(root)
	root.AddCommand(p.mcpCommand(), p.demoCommand(), p.toolsCommand(), p.callCommand(), p.enginesCommand(), p.generateCommand(), workflows.Command(p.Program, packages.Commands(p.Program)...), workflows.ReviewCommand(p.Program), rules.Command(p.Program),
		workflows.ApproveCommand(p.Program), p.initCommand(), p.trustCommand(), remote.TokenCommand(p.Program), states.Command(p.Program, p.listCommand("list", "List runs of workflows, the last changed first", app.OfWorkflow), p.showCommand(), p.cancelCommand()), proofs.WithFiles(p.Program, p.verifyCommand()), agents.RunCommand(p.Program), p.runsCommand(), p.showCommand(), p.explainCommand(), p.cancelCommand(), agents.WorkCommand(p.Program), p.hubCommand(), hooks.Command(p.Program, p.configure), clients.SetupCommand(p.Program), clients.DoctorCommand(p.Program), p.reasoningCommand(), p.configCommand(), p.schemaCommand(), p.lspCommand(), p.versionCommand())
	root.AddCommand(packages.AdoptCommand(p.Program), proofs.Command(p.Program), proofs.KeyCommand(p.Program))
	withHelp(root)
	root.InitDefaultCompletionCmd()
	for _, each := range root.Commands() {
		if each.Name() == "completion" {
			cli.NeedSubcommand(each)
		}
	}
	p.withCompletion(root)
	return root
}

// usageTemplate names the settings in one line: each is a flag of every command.
func usageTemplate(whole string) string {
	const flags = "{{if .HasAvailableInheritedFlags}}\n\nGlobal Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}"
	return strings.Replace(whole, flags, "{{if .HasParent}}\n\nsavant help settings lists the settings; --set KEY=VALUE sets one.{{end}}", 1)
}

// configure reads the settings, before any command runs.
func (p *program) configure(command *cobra.Command, _ []string) error {
	if err := command.ValidateFlagGroups(); err != nil {
		return cli.UsageError(err.Error())
	}
	flag, err := cli.SettingsOf(command.Flags())
	if err != nil {
		return err
	}
	p.Flags = command.Flags()
	loaded, err := settings.Load(flag, func(row settings.Setting) (string, bool) { return p.Variable(row.Env) }, app.Trust(p.World.Environment))
	if err != nil {
		return app.Misconfigured(err)
	}
	for i, value := range loaded.Values {
		if value.Origin.Source == settings.FromFlag {
			loaded.Values[i].Origin.Name = cli.FlagOf(p.Flags, value.Setting)
		}
	}
	p.Settings, p.Loaded = loaded.Settings, loaded
	return p.refuseModels(command)
}

// refuseModels refuses models that are named where a service outside decides. The commands
// that answer others ask the models themselves.
func (p *program) refuseModels(command *cobra.Command) error {
	serves := strings.HasPrefix(command.CommandPath(), "savant reasoning ") && command.Name() != "decide"
	if p.Loaded.Reasoning.URL == "" || serves {
		return nil
	}
	for _, value := range p.Loaded.Values {
		models := value.Setting.Env == settings.EnvSLM || value.Setting.Env == settings.EnvLLM
		if models && value.Origin.Source == settings.FromFlag {
			return cli.UsageError(value.Origin.Name + " names a model of the built-in service, and " + settings.EnvReasoningURL + " names another service: leave one out")
		}
	}
	return nil
}

// withoutCommand serves MCP if a client has started the program with MCP_SERVICE, and
// else prints the usage.
func (p *program) withoutCommand(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.UnknownCommand(command, args[0], "help")
	}
	if p.Settings.Given {
		return p.serve(command.Context(), "")
	}
	command.SetOut(p.Stderr)
	return errors.Join(command.Help(), cli.UsageError("no command; set MCP_SERVICE to serve MCP"))
}
