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
	"savant/fault"
)

func (p *program) hubCommand() *cobra.Command {
	var address string
	var readOnly bool
	command := &cobra.Command{Use: "hub", Short: "Serve a web page of all runs, workflows and engines",
		Long: "Serve a web page of all runs, workflows and engines here. It prints a link that opens the page once, for the person at\n" +
			"this terminal; the browser then has a session of 12 hours. It listens on this machine alone.",
		Example: "  savant hub\n  savant hub --address 127.0.0.1:0",
		Args:    cli.Positional(cobra.NoArgs),
		RunE:    p.OnApp(func(ctx context.Context, a *app.App, _ []string) error { return p.serveHub(ctx, a, address, readOnly) })}
	command.Flags().StringVar(&address, "address", "127.0.0.1:9999", "where to listen, on this machine; port 0 takes a free one")
	command.Flags().BoolVar(&readOnly, "read-only", false, "show only: no page changes anything")
	return command
}

// serveHub serves until ctx ends.
func (p *program) serveHub(ctx context.Context, a *app.App, address string, readOnly bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return cli.UsageError("--address: expected HOST:PORT, such as 127.0.0.1:9999")
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return cli.UsageError("--address: the hub listens on this machine alone: 127.0.0.1, [::1] or localhost")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return app.Misconfigured(fault.New(fault.InvalidParams, "--address %s: %w; --address 127.0.0.1:0 takes a free port", address, err))
	}
	pages, err := a.Hub(ctx, listener.Addr().String(), readOnly)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintf(p.Stderr, "savant: the hub is at http://%s\nsavant: open it once with\n", listener.Addr())
	fmt.Fprintln(p.Stdout, pages.Link())
	// Streams last, so that a bound of writing is theirs alone; what is not streamed is short.
	server := &http.Server{Handler: pages.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer pages.Wait()
	return serveUntilDone(ctx, server, listener)
}
