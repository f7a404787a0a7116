// Package cli holds what all commands share: streams, settings, error reporting, exit
// codes, and reading of arguments and files.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/settings"
	"savant/internal/visible"
)

// World is the environment of one start of the program.
type World struct {
	// Version is the linker's; if empty, the Go tool's build information is used.
	Version     string
	Environment []string
	Stdin       io.Reader
	Stdout      io.Writer
	Stderr      io.Writer
	// Engines fills the registry; nil means Savant's engines.
	Engines func(*app.App) error
	// EndWithin changes how long the program may take to end after a signal; it may be
	// nil.
	EndWithin func(time.Duration)
}

// Program is one run of the command line: its world, settings and flags.
type Program struct {
	World    World
	Stdin    io.Reader
	Typed    *terminal.Lines // the lines typed on Stdin
	Stdout   *terminal.Output
	Stderr   io.Writer
	Settings settings.Settings
	Loaded   *settings.Loaded // the same, with the source of each value
	// Flags are those of the command, once they were read.
	Flags *pflag.FlagSet
	// Command is the full name of the command: "savant state list".
	Command string
	// JSON: results and errors are printed as JSON on stdout.
	JSON bool
	// Lines: each JSON value on stdout is one line.
	Lines bool
	// Serving: the command serves clients until a signal ends it.
	Serving bool
	// Open are a command's options for opening the program.
	Open app.Options
	// logger is set once the program is open.
	logger *slog.Logger
}

// ServeProject marks the program as a server. One that is started where no project is gets
// an empty folder in its place, until end is called: it writes nothing, and says what it
// needs.
func (p *Program) ServeProject() (end func(), err error) {
	p.Serving = true
	place := p.Loaded.Nowhere()
	if place == "" {
		return func() {}, nil
	}
	scratch, err := os.MkdirTemp("", "savant-no-project-")
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "Savant was started in %s, and %w", place, err)
	}
	elsewhere := *p.Loaded
	elsewhere.Path = scratch
	p.Loaded, p.Settings.Path, p.Open.Nowhere = &elsewhere, scratch, place
	return func() { _ = os.RemoveAll(scratch) }, nil // only the log is in it
}

// With opens the program, runs work and closes it again.
func (p *Program) With(ctx context.Context, work func(*app.App) error) error {
	p.NameFolder()
	options := p.Open
	options.Version, options.Environment, options.Engines = p.World.Version, p.World.Environment, p.World.Engines
	options.Settings, options.Stderr, options.Serving = p.Loaded, p.Stderr, p.Serving
	a, err := app.Open(ctx, options)
	if err != nil {
		return err
	}
	p.logger = a.Logger
	return errors.Join(work(a), a.Close(ctx))
}

// Listen listens at an address; what names whose it is.
func Listen(ctx context.Context, what, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err == nil {
		return listener, nil
	}
	var listening *net.OpError
	if errors.As(err, &listening) { // it repeats the address
		err = listening.Err
	}
	return nil, app.Misconfigured(fault.New(fault.InvalidParams, "%s %s: %w; port 0 takes a free one", what, address, err))
}

// TellHeld reports that the command waits for a lock of another process.
func (p *Program) TellHeld(name string) {
	if p.logger != nil {
		p.logger.Warn("another process holds the lock of "+name+"; waiting for it", "file", name)
		return
	}
	fmt.Fprintf(p.Stderr, "savant: another process holds the lock of %s; waiting for it\n", name)
}

// NameFolder prints on stderr which folder a command works in, if it is neither the
// working folder nor named by the user.
func (p *Program) NameFolder() {
	if found := p.Loaded.Found; found != nil {
		fmt.Fprintf(p.Stderr, "savant: working in %s, the nearest folder above with %s\n", terminal.Visible(found.Folder), found.Sign)
	}
}

// Variable returns an environment variable.
func (p *Program) Variable(name string) (string, bool) {
	return app.Variable(p.World.Environment, name)
}

// Print writes a value to stdout as one indented JSON document.
func (p *Program) Print(value any) error {
	text, err := terminal.Indented(value)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.Stdout, text)
	return err
}

// Line writes a value to stdout as one line of JSON, with unprintable characters escaped.
func (p *Program) Line(value any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := p.Stdout.Write(visible.JSON(line.Bytes()))
	return err
}
