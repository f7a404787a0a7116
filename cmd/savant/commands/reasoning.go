package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/service"
)

func (p *program) reasoningCommand() *cobra.Command {
	return cli.Group("reasoning", "Ask for one decision, serve decisions, or answer those of a queue", p.decideCommand(), p.reasoningServeCommand(), p.reasoningWorkCommand())
}

func (p *program) decideCommand() *cobra.Command {
	var given string
	command := &cobra.Command{Use: "decide --request @FILE|-", Short: "Ask for the decision of one request and print the intent",
		Long: "Ask for the decision of one request (schemas/reasoning_request.json) and print the checked and " +
			"repaired intent: a way to try a Reasoning API.",
		Args: cli.Positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			raw, err := p.ArgumentsOf("--request", given)
			if err != nil {
				return err
			}
			p.Open.Alone = true
			return p.With(command.Context(), func(a *app.App) error { return p.decideOnce(command.Context(), a, raw) })
		}}
	command.Flags().StringVar(&given, "request", "-", "the request: JSON, @FILE to read it from a file, - from stdin")
	return p.JSONFlag(command)
}

func (p *program) decideOnce(ctx context.Context, a *app.App, raw json.RawMessage) error {
	var request reasoning.Request
	if err := json.Unmarshal(raw, &request); err != nil {
		return fault.New(fault.InvalidParams, "the request: %w", err)
	}
	client, _, err := a.Reasoner(p.Settings.Reasoning, nil)
	if err != nil {
		return err
	}
	observer, recorded := a.Observe(ctx, request)
	defer recorded()
	intent, err := client.Decide(ctx, request, observer)
	if err != nil {
		return err
	}
	text, err := terminal.Indented(intent)
	if err != nil {
		return err
	}
	return p.Print(app.Redactor(p.World.Environment, p.Loaded).Certain().JSON(json.RawMessage(text))) // it may repeat what it was sent
}

func (p *program) reasoningServeCommand() *cobra.Command {
	var address string
	command := &cobra.Command{Use: "serve", Short: "Serve POST /agent_intent with the built-in reasoning service",
		Long: "Serve POST /agent_intent with the built-in reasoning service. REASONING_API_TOKEN, where it is set, is the bearer " +
			"token that callers must have; without one only an address of this machine is served. At such an address a request has to name an address, localhost or " +
			"the host of --address, so that no web page can ask under a name of its own.\n\n" +
			"An answer is kept for an hour, in .savant/answers, also if the service is started again. A request with the same Idempotency-Key gets it again, and no model is paid.",
		Args: cli.Positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			p.Open.Alone = true
			return p.With(command.Context(), func(a *app.App) error { return p.serveReasoning(command.Context(), a, address) })
		}}
	command.Flags().StringVar(&address, "address", "127.0.0.1:8732", "where to listen; port 0 takes a free one")
	return command
}

// serveReasoning serves until ctx ends, and then briefly lets decisions finish.
func (p *program) serveReasoning(ctx context.Context, a *app.App, address string) error {
	handler, err := a.ReasoningHandler(ctx)
	if err != nil {
		return err
	}
	listener, err := cli.Listen(ctx, "--address", address)
	if err != nil {
		return err
	}
	local, token := listener.Addr().(*net.TCPAddr).IP.IsLoopback(), p.Settings.Reasoning.Token != ""
	if !token && !local {
		return errors.Join(app.Misconfigured(fault.New(fault.InvalidParams, "--address %s is reachable from elsewhere: set REASONING_API_TOKEN", address)), listener.Close())
	}
	if local {
		name, _, _ := net.SplitHostPort(address) // listening has validated it
		handler = service.ForHosts(handler, name)
	}
	fmt.Fprintf(p.Stderr, "serving http://%s%s\n", listener.Addr(), reasoning.Endpoint)
	if !token {
		fmt.Fprintln(p.Stderr, "any program of this machine may ask; with REASONING_API_TOKEN only those that have the token")
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 5 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	return serveUntilDone(ctx, server, listener)
}

// serveUntilDone serves until ctx ends, and then briefly lets requests finish.
func serveUntilDone(ctx context.Context, server *http.Server, listener net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.CloseGrace)
	defer cancel()
	if server.Shutdown(closing) != nil {
		server.Close()
	}
	<-served
	return nil
}
