package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands/remote"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/hub"
	"savant/internal/webguard"
)

func (p *program) hubCommand() *cobra.Command {
	var at app.HubAt
	command := &cobra.Command{Use: "hub", Short: "Serve a web page of all runs, workflows and engines",
		Long: "Serve a web page of all runs, workflows and engines here. It prints a link that opens the page once, for the person at\n" +
			"this terminal; the browser then has a session of 12 hours. It listens on this machine only, unless there are tokens.",
		Example: "  savant hub\n  savant hub --address 127.0.0.1:0",
		Args:    cli.Positional(cobra.NoArgs),
		RunE:    p.OnApp(func(ctx context.Context, a *app.App, _ []string) error { return p.serveHub(ctx, a, at) })}
	command.Flags().StringVar(&at.Address, "address", "127.0.0.1:9999", "where to listen; port 0 takes a free one")
	command.Flags().BoolVar(&at.ReadOnly, "read-only", false, "show only: no page changes anything")
	command.Flags().BoolVar(&at.NoAnswers, "no-answers", false, "no page takes a person's answer to a workflow")
	return command
}

// serveHub serves the hub until ctx ends.
func (p *program) serveHub(ctx context.Context, a *app.App, at app.HubAt) error {
	host, _, err := net.SplitHostPort(at.Address)
	if err != nil {
		return cli.UsageError("--address: expected HOST:PORT, such as 127.0.0.1:9999")
	}
	file, err := remote.ServedTokens(p.Program, a.Path)
	if err != nil {
		return err
	}
	if tokens, err := webguard.ReadTokens(file); !webguard.IsLoopback(net.JoinHostPort(host, "0")) && err == nil && len(tokens) == 0 {
		return cli.UsageError(remote.NobodyMayAsk(p.Program, "--address", at.Address))
	}
	listener, pages, err := p.openHub(ctx, a, at)
	if err != nil {
		return err
	}
	defer a.AnnounceHub(ctx, at, listener.Addr())()
	a.FollowMounts(ctx, a.Tools)
	fmt.Fprintf(p.Stderr, "savant: the hub is at http://%s\nsavant: open it once with\n", listener.Addr())
	fmt.Fprintln(p.Stdout, pages.Link())
	defer pages.Wait()
	return serveUntilDone(ctx, hubServer(ctx, pages), listener)
}

// openHub listens, and returns the pages to serve.
func (p *program) openHub(ctx context.Context, a *app.App, at app.HubAt) (net.Listener, *hub.Hub, error) {
	listener, err := cli.Listen(ctx, "the hub at", at.Address)
	if err != nil {
		return nil, nil, err
	}
	tokens, err := remote.ServedTokens(p.Program, a.Path)
	if err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	at.Address, at.Tokens = listener.Addr().String(), tokens
	pages, err := a.Hub(ctx, at)
	if err != nil {
		return nil, nil, errors.Join(app.Misconfigured(err), listener.Close())
	}
	return listener, pages, nil
}

// hubServer serves pages. It has no write timeout, since streams last; they set their
// own.
func hubServer(ctx context.Context, pages *hub.Hub) *http.Server {
	return &http.Server{Handler: pages.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
}

// serveHubBeside serves the hub beside an MCP client until end is called. If that
// fails, stderr says so and the client is served without a hub.
func (p *program) serveHubBeside(ctx context.Context, a *app.App, address string) (end func()) {
	if address == "" {
		return func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	listener, pages, err := p.openHub(ctx, a, app.HubAt{Address: address})
	if err != nil {
		stop()
		fmt.Fprintf(p.Stderr, "savant: no hub: %s; MCP is served without it\n", terminal.Visible(fault.From(err).Message()))
		return func() {}
	}
	unannounce := a.AnnounceHub(ctx, app.HubAt{}, listener.Addr())
	fmt.Fprintf(p.Stderr, "savant: the hub is at http://%s\nsavant: open it once with %s\n", listener.Addr(), pages.Link()) // stdout is the client's
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := serveUntilDone(ctx, hubServer(ctx, pages), listener); err != nil {
			a.Logger.Error("the hub has ended", "cause", err.Error())
		}
		pages.Wait()
	}()
	return func() {
		unannounce()
		stop()
		<-ended
	}
}
