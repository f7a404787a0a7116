package remote

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/access"
	"savant/internal/regular"
	"savant/internal/settings"
	"savant/internal/visible"
	"savant/internal/webguard"
)

// TokenCommand manages the tokens of savant mcp --http.
func TokenCommand(p *cli.Program) *cobra.Command {
	return cli.Group("token", "Make, list and revoke the tokens of savant mcp --http", addCommand(p), listCommand(p), revokeCommand(p))
}

func addCommand(p *cli.Program) *cobra.Command {
	var scopes []string
	token := webguard.Token{}
	command := &cobra.Command{Use: "add NAME", Short: "Make a token and print it, once",
		Long: "Make a token and print it, once: only its digest is kept. It is valid at once, also for running servers.\n\n" +
			"Scopes: read may look, guide may follow workflows, run may call every tool; each includes the one before. approve may answer\n" +
			"for a person.",
		Example: "  savant token add laptop\n  savant token add ci --scope read --folder /srv/shop --per-day 1000",
		Args:    cli.Positional(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			token.Name = args[0]
			return add(command.Context(), p, token, scopes)
		}}
	command.Flags().StringSliceVar(&scopes, "scope", []string{string(access.Guide)}, "what its bearer may do: "+access.List())
	command.Flags().StringVar(&token.Path, "folder", "", "the only folder that its bearer may use, as SAVANT_PATH; default: the server's folder")
	command.Flags().IntVar(&token.PerMinute, "per-minute", 0, "highest number of requests per minute; 0: the server's limit")
	command.Flags().IntVar(&token.PerDay, "per-day", 0, "highest number of tool calls per day; 0: no limit")
	return p.JSONFlag(command)
}

func add(ctx context.Context, p *cli.Program, token webguard.Token, scopes []string) error {
	known, err := access.ParseScopes(scopes)
	switch {
	case err != nil:
		return err
	case len(known) == 0:
		return cli.UsageError("--scope: expected some of " + access.List())
	case token.PerMinute < 0 || token.PerDay < 0:
		return cli.UsageError("--per-minute, --per-day: expected a number from 0")
	case strings.TrimSpace(token.Name) == "" || visible.Line(token.Name) != token.Name || len(token.Name) > 100:
		return fault.New(fault.InvalidParams, "a token's name is one line of up to 100 visible characters")
	}
	for _, each := range known {
		token.Scopes = append(token.Scopes, string(each))
	}
	if token.Path != "" {
		if token.Path, err = filepath.Abs(token.Path); err != nil {
			return err
		}
		if info, err := os.Stat(token.Path); err != nil || !info.IsDir() {
			return fault.New(fault.InvalidParams, "--folder: expected a folder, got %q", token.Path)
		}
	}
	path, err := writable(p)
	if err != nil {
		return err
	}
	served := token.Path
	if served == "" && p.Loaded.IsSet(settings.EnvPath) { // not the working folder, which may be the home folder
		served = p.Settings.Path
	}
	if served != "" && regular.Controls(served, path) {
		return misplaced(path, served)
	}
	secret, err := access.Add(ctx, path, token)
	if err != nil {
		return err
	}
	if p.JSON {
		return p.Print(map[string]any{"name": token.Name, "scopes": token.Scopes, "token": secret})
	}
	fmt.Fprintf(p.Stderr, "savant: the token %s may %s; it is not shown again\n", visible.Line(token.Name), strings.Join(token.Scopes, ", "))
	_, err = fmt.Fprintln(p.Stdout, secret)
	return err
}

// writable returns the token file, if there is one.
func writable(p *cli.Program) (string, error) {
	if path := tokenFile(p); path != "" {
		return filepath.Abs(path)
	}
	return "", app.Misconfigured(fault.New(fault.InvalidParams, noTokenFile))
}

const noTokenFile = "there is no folder for tokens: set XDG_CONFIG_HOME or HOME, or name a file with " + settings.EnvHTTPTokens

func listCommand(p *cli.Program) *cobra.Command {
	command := &cobra.Command{Use: "list", Short: "List the tokens, without the tokens themselves", Args: cli.Positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			tokens, err := webguard.ReadTokens(tokenFile(p))
			if err != nil {
				return err
			}
			if p.JSON {
				return p.Print(map[string]any{"tokens": append(webguard.Tokens{}, tokens...)})
			}
			if len(tokens) == 0 {
				fmt.Fprintln(p.Stderr, "no tokens: savant token add NAME makes one")
			}
			return terminal.Table(p.Stdout, []string{"NAME", "SCOPES", "FOLDER", "PER MINUTE", "PER DAY"}, tokens, func(each webguard.Token) []string {
				return []string{visible.Line(each.Name), visible.Line(strings.Join(each.Scopes, ",")), visible.Line(each.Path), bound(each.PerMinute), bound(each.PerDay)}
			})
		}}
	return p.JSONFlag(command)
}

func bound(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func revokeCommand(p *cli.Program) *cobra.Command {
	command := &cobra.Command{Use: "revoke NAME", Short: "Remove a token, at once, also for running servers", Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			path, err := writable(p)
			if err == nil {
				err = access.Revoke(command.Context(), path, args[0])
			}
			if err != nil {
				return err
			}
			if p.JSON {
				return p.Print(map[string]string{"revoked": args[0]})
			}
			_, err = fmt.Fprintf(p.Stdout, "Revoked %s.\n", visible.Line(args[0]))
			return err
		}}
	return p.JSONFlag(command)
}
