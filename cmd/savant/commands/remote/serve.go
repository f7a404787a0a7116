// Package remote holds the commands for remote clients: `savant mcp --http` and `savant
// token`.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines/mcpio/streamable"
	"savant/fault"
	"savant/hub"
	"savant/internal/access"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/internal/settings"
	"savant/internal/webguard"
	"savant/think"
)

// When the program stops, open requests get drain to finish, and the rest endGrace to end.
const (
	drain    = 5 * time.Second
	endGrace = 600 * time.Millisecond
)

// perMinute is the highest number of requests in a minute of a token that sets no limit
// itself.
const perMinute = 6000

// Serve serves MCP over HTTP until ctx ends, and then answers the running requests. The
// same address has the metrics, and with withHub the pages of the hub.
func Serve(ctx context.Context, p *cli.Program, withHub bool) error {
	end, err := p.ServeProject()
	if err != nil {
		return err
	}
	defer end()
	given := p.Settings.HTTP
	host, _, err := net.SplitHostPort(given.Address)
	if err != nil {
		return app.Misconfigured(&settings.Error{Setting: settings.EnvHTTP, Value: given.Address, Expected: "HOST:PORT, such as 127.0.0.1:8080"})
	}
	// After a signal ends serving, closing must not take long.
	closing, closeNow := context.WithCancel(context.WithoutCancel(ctx))
	defer closeNow()
	return p.With(closing, func(a *app.App) error {
		defer closeNow()
		door, issuer, err := openDoor(p, a, host)
		if err != nil {
			return err
		}
		if issuer != nil {
			defer issuer.Close()
		}
		listener, err := cli.Listen(ctx, "--http", given.Address)
		if err != nil {
			return err
		}
		return serve(ctx, p, a, door, listener, withHub)
	})
}

// openDoor returns the authentication. Without tokens only local programs are admitted.
func openDoor(p *cli.Program, a *app.App, host string) (*access.Door, *access.Issuer, error) {
	given := p.Settings.HTTP
	var issuer *access.Issuer
	var err error
	if given.Issuer != "" {
		if given.URL == "" {
			return nil, nil, app.Misconfigured(fault.New(fault.InvalidParams, "%s needs %s, whose /mcp is the audience of its tokens", settings.EnvHTTPIssuer, settings.EnvHTTPURL))
		}
		if issuer, err = access.NewIssuer(given.Issuer, resource(given.URL), a.Logger); err != nil {
			return nil, nil, app.Misconfigured(err)
		}
	}
	local := webguard.IsLoopback(net.JoinHostPort(host, "0"))
	tokens, err := ServedTokens(p, a.Path)
	if err != nil {
		return nil, nil, err
	}
	door, err := access.NewDoor(access.DoorOptions{File: tokens, Issuer: issuer, Open: local, Logger: a.Logger})
	if err != nil {
		return nil, nil, app.Misconfigured(err)
	}
	if !local && !door.HasTokens() {
		return nil, nil, app.Misconfigured(fault.New(fault.InvalidParams, "%s", NobodyMayAsk(p, "--http", given.Address)))
	}
	return door, issuer, nil
}

// NobodyMayAsk says what an address, of a flag, needs that others reach without a token to
// ask with.
func NobodyMayAsk(p *cli.Program, flag, address string) string {
	needs := "there is no token; savant token add NAME makes one"
	if tokenFile(p) == "" {
		needs = noTokenFile
	}
	return flag + " " + terminal.Visible(address) + " can be reached from other machines, and " + needs + "; 127.0.0.1 needs none"
}

// ServedTokens returns the token file for a server of a folder, "" for none. Who writes
// the folder must not be able to bring the file: else it is INVALID_PARAMS.
func ServedTokens(p *cli.Program, folder string) (string, error) {
	path := tokenFile(p)
	if path == "" || !regular.Controls(folder, path) {
		return path, nil
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && p.Settings.HTTP.Tokens == "" {
		return "", nil
	}
	return "", misplaced(path, folder)
}

// misplaced is the error for a token file in a folder that its tokens give access to.
func misplaced(path, folder string) error {
	return app.Misconfigured(fault.New(fault.InvalidParams, "the token file %s is in %s or its repository, so a clone could bring it: set XDG_CONFIG_HOME or %s to a place outside", path, folder, settings.EnvHTTPTokens))
}

func tokenFile(p *cli.Program) string {
	return app.TokenFile(p.Settings, p.World.Environment)
}

// resource returns the URL of MCP at a server.
func resource(address string) string {
	address = strings.TrimSuffix(address, "/")
	if strings.HasSuffix(address, streamable.Path) {
		return address
	}
	return address + streamable.Path
}

// serve serves requests until ctx ends.
func serve(ctx context.Context, p *cli.Program, a *app.App, door *access.Door, listener net.Listener, withHub bool) error {
	given := p.Settings.HTTP
	if withHub {
		defer a.AnnounceHub(ctx, app.HubAt{}, listener.Addr())()
	}
	projects := newProjects(p, a)
	defer projects.close()
	if _, err := projects.serverOf(ctx, ""); err != nil { // report an error of the settings at once
		return errors.Join(err, listener.Close())
	}
	public := cmp.Or(given.URL, "http://"+listener.Addr().String())
	guard, err := guardOf(public, listener.Addr())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	answering := streamable.New(streamable.Options{Guard: guard, Door: door, Project: projects.serverOf, Ready: ready(a, p.Settings.Store), Resource: resource(public), Issuer: given.Issuer,
		PerMinute: perMinute, Logger: a.Logger})
	pages, err := openPages(ctx, p, a, listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer pages.Wait()
	server := &http.Server{Handler: withMetrics(answering.Handler(), pages.Handler(), withHub), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }, ErrorLog: nil}
	fmt.Fprintf(p.Stderr, "savant: serving MCP at http://%s%s\n", listener.Addr(), streamable.Path)
	if withHub {
		fmt.Fprintf(p.Stderr, "savant: the hub is at the same address: open it once with %s\n", pages.Link())
	}
	if door.Open() {
		fmt.Fprintln(p.Stderr, "savant: any program of this machine may ask; create a token (savant token add NAME) and restart to require one")
	}
	if p.World.EndWithin != nil {
		p.World.EndWithin(drain + endGrace)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if answering.End(draining) != nil {
		a.Logger.Warn("open requests are cut off", "after", drain)
	}
	projects.close()
	err = server.Close()
	<-served
	a.Logger.Info("stopped", "signal", true)
	return err
}

// openPages returns the hub's pages for the address of MCP.
func openPages(ctx context.Context, p *cli.Program, a *app.App, listener net.Listener) (*hub.Hub, error) {
	tokens, err := ServedTokens(p, a.Path)
	if err != nil {
		return nil, err
	}
	pages, err := a.Hub(ctx, app.HubAt{Address: listener.Addr().String(), Tokens: tokens})
	if err != nil {
		return nil, app.Misconfigured(err)
	}
	return pages, nil
}

// withMetrics serves the metrics beside MCP, and the pages of the hub if whole is true.
func withMetrics(mcp, pages http.Handler, whole bool) http.Handler {
	own := []string{streamable.Path, "/healthz", "/readyz"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if path == "/metrics" || whole && !slices.Contains(own, path) && !strings.HasPrefix(path, "/.well-known/") {
			pages.ServeHTTP(w, r)
			return
		}
		mcp.ServeHTTP(w, r)
	})
}

// guardOf returns the names of the server: its addresses and its public name.
func guardOf(public string, listening net.Addr) (webguard.Guard, error) {
	address, err := url.Parse(public)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return webguard.Guard{}, app.Misconfigured(&settings.Error{Setting: settings.EnvHTTPURL, Value: public, Expected: "an address, such as https://savant.example"})
	}
	_, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return webguard.Guard{}, err
	}
	guard := webguard.Guard{Hosts: []string{strings.ToLower(address.Host), strings.ToLower(address.Hostname())}, Addresses: true,
		Origins: []string{strings.ToLower(address.Scheme + "://" + address.Host)}}
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		guard.Origins = append(guard.Origins, "http://"+net.JoinHostPort(host, port))
	}
	return guard, nil
}

// ready checks that the store answers, and that the folder of runs can be written.
func ready(a *app.App, store string) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := a.Think.StateList(ctx, think.StateListInput{Limit: 1}); err != nil || store == settings.StoreMongo {
			return err
		}
		if folder, err := a.TryState(); err != nil {
			return ownfolder.NotSaved(folder, err)
		}
		return nil
	}
}
