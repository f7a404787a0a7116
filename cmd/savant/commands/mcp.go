package commands

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands/remote"
	"savant/cmd/savant/terminal"
	"savant/engines/mcpio"
)

func (p *program) mcpCommand() *cobra.Command {
	var beside string
	command := &cobra.Command{Use: "mcp", Short: "Serve MCP on stdin and stdout, or over HTTP with --http HOST:PORT", Args: cli.Positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error { return p.serve(command.Context(), beside) }}
	command.Flags().StringVar(&beside, "hub", "", "serve the hub, too, at HOST:PORT such as 127.0.0.1:9999, or at that of --http; its link is printed on stderr")
	return command
}

// serve serves one client until its stream or ctx ends, or clients over HTTP.
func (p *program) serve(ctx context.Context, besideHub string) error {
	if p.Settings.HTTP.Address != "" {
		if besideHub != "" && besideHub != p.Settings.HTTP.Address {
			return cli.UsageError("--hub: with --http the hub has the same address, " + terminal.Visible(p.Settings.HTTP.Address))
		}
		return remote.Serve(ctx, p.Program, besideHub != "")
	}
	end, err := p.ServeProject()
	if err != nil {
		return err
	}
	defer end()
	// After the client or a signal ends serving, closing must not take long.
	closing, close := context.WithCancel(ctx)
	defer close()
	return p.With(closing, func(a *app.App) error {
		defer close()
		published, err := a.Published()
		if err != nil {
			return err
		}
		server, err := a.Server(ctx, published, remote.QuestionsOf(a, app.Configuration(p.World.Environment)))
		if err != nil {
			return err
		}
		a.FollowMounts(closing, published)
		a.Logger.Info("serving MCP", "engines", p.Settings.Services, "version", p.World.Version)
		a.LogHealth(closing, published)
		endHub := p.serveHubBeside(closing, a, besideHub)
		err = p.serveClient(ctx, server)
		endHub()
		a.Logger.Info("stopped", "signal", ctx.Err() != nil)
		return err
	})
}

// A client that has closed its stream may still read the answers, as in `printf … |
// savant mcp`, however long they take. When nobody can read the output any more, calls
// are cancelled.

// pollUnread is how often the server checks for a reader after the client has closed
// its stream.
const pollUnread = 100 * time.Millisecond

// serveClient serves the client at the standard streams until it has all answers,
// nobody reads them, or ctx ends.
func (p *program) serveClient(ctx context.Context, server *mcpio.Server) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in := &ending{Reader: p.Stdin, ended: func() { go p.watchUnread(ctx, stop) }}
	return server.Serve(ctx, in, p.Stdout)
}

// watchUnread stops the server when its output has lost its reader.
func (p *program) watchUnread(ctx context.Context, stop func()) {
	file, isFile := p.Stdout.Writer.(*os.File)
	if !isFile {
		return
	}
	ticker := time.NewTicker(pollUnread)
	defer ticker.Stop()
	for !terminal.HasNoReader(file) {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	stop()
}

// ending is a stream that calls ended once, at its end.
type ending struct {
	io.Reader
	ended func()
	once  sync.Once
}

func (e *ending) Read(data []byte) (int, error) {
	n, err := e.Reader.Read(data)
	if err != nil {
		e.once.Do(e.ended)
	}
	return n, err
}
