package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/fault"
	"savant/internal/settings"
)

func (p *program) toolsCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{Use: "tools", Short: "List the tools that are published", Args: positional(cobra.NoArgs),
		Long: "List the tools that are published: with --json, exactly what tools/list answers.",
		RunE: p.onApp(func(ctx context.Context, a *app.App, _ []string) error {
			return p.listTools(ctx, a)
		})})
}

func (p *program) listTools(ctx context.Context, a *app.App) error {
	published, err := a.Published()
	if err != nil {
		return err
	}
	if err := a.AwaitServers(ctx, published); err != nil {
		return err
	}
	if p.json {
		server, err := a.Server(ctx, published)
		if err != nil {
			return err
		}
		list, err := server.List()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "%s\n", list)
		return err
	}
	return terminal.Table(p.stdout, published.Tools(), func(tool engines.Tool) []string {
		first, _, _ := strings.Cut(tool.Description, ". ")
		return []string{tool.Name, strings.TrimSuffix(first, ".")}
	})
}

func (p *program) callCommand() *cobra.Command {
	var arguments string
	command := &cobra.Command{Use: "call TOOL [--args JSON|@FILE|-]", Short: "Call one tool and print its result as JSON",
		Long:    "Call one tool and print its result as JSON. A tool's name may be written with dots or underscores.",
		Args:    positional(cobra.ExactArgs(1)),
		Example: `  savant call think.plan --args '{"workflow": "hello"}'`,
		RunE: func(command *cobra.Command, args []string) error {
			raw, err := p.argumentsOf("--args", arguments)
			if err != nil {
				return err
			}
			return p.with(command.Context(), func(a *app.App) error { return p.call(command.Context(), a, args[0], raw) })
		}}
	command.Flags().StringVar(&arguments, "args", "{}", "the arguments: JSON, @FILE to read them from a file, - from stdin")
	return p.jsonFlag(command)
}

func (p *program) call(ctx context.Context, a *app.App, tool string, args json.RawMessage) error {
	published, err := a.Published()
	if err != nil {
		return err
	}
	if _, shown := published.Resolve(tool); !shown {
		if hidden, there := a.Tools.Resolve(tool); there {
			return fault.New(fault.UnknownTool, "%s is a tool of the engine %s, %w %s: %s",
				hidden.Name, engines.EngineOf(hidden.Name), errNotPublished, settings.EnvServices, strings.Join(p.settings.Services, ", "))
		}
	}
	result, err := published.Invoke(engines.WithCaller(ctx, engines.Caller{Progress: terminal.Progress(p.stderr, time.Now)}), tool, args)
	if err != nil && result.Receipt != "" {
		return fault.From(err).Attach(engines.ReceiptKey, result.Receipt)
	}
	if err != nil {
		return err
	}
	return p.print(engines.WithReceipt(result.JSON, result.Receipt))
}

// maxArguments bounds what is read of a file or stdin: as much as a line of
// the protocol.
const maxArguments = 64 << 20

// argumentsOf reads what a flag names: JSON, @FILE or - for stdin.
func (p *program) argumentsOf(flag, given string) (json.RawMessage, error) {
	raw := []byte(given)
	name, isFile := strings.CutPrefix(given, "@")
	if isFile || given == "-" {
		var err error
		if raw, err = p.read(flag, name, maxArguments); err != nil {
			return nil, err
		}
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, usageError(flag + ": expected JSON, got nothing")
	}
	if !utf8.Valid(raw) {
		return nil, usageError(flag + " is not JSON: text is not UTF-8")
	}
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return nil, usageError(flag + " is not JSON: " + err.Error())
	}
	return raw, nil
}

// read returns the content of the file that a flag names, or of stdin for -, of
// at most limit bytes.
func (p *program) read(flag, name string, limit int64) ([]byte, error) {
	source := p.stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, usageError(flag + ": " + err.Error())
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, limit+1))
	if err != nil {
		return nil, usageError(flag + ": " + err.Error())
	}
	if int64(len(data)) > limit {
		return nil, fault.New(fault.LimitExceeded, "%s: more than %d bytes", flag, limit)
	}
	return data, nil
}
