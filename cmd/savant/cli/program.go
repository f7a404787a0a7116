// Package cli is what all commands of the program share: its streams and settings,
// how it reports errors and ends, and how arguments and files are read.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/internal/settings"
)

// World is what a start of the program sees.
type World struct {
	// Version is what the linker was told; empty for what the Go tool knows.
	Version     string
	Environment []string
	Stdin       io.Reader
	Stdout      io.Writer
	Stderr      io.Writer
	// Engines fills the registry; nil for Savant's own engines.
	Engines func(*app.App) error
	// EndWithin says how long the program may take to end after a signal, where that
	// is not the usual time; it may be nil.
	EndWithin func(time.Duration)
}

// Program is one run of the command line: the world it sees, its settings and
// flags.
type Program struct {
	World    World
	Stdin    io.Reader
	Typed    *terminal.Lines // what a person types on Stdin
	Stdout   *terminal.Output
	Stderr   io.Writer
	Settings settings.Settings
	Loaded   *settings.Loaded // the same, with where each value is from
	// Command is what was run: "savant state list".
	Command string
	// JSON makes results and errors JSON on stdout.
	JSON bool
	// Lines: what is JSON on stdout is one line each.
	Lines bool
	// Serving: the command answers clients until it is told to end.
	Serving bool
	// Open is what a command opens the program with, beside its world.
	Open app.Options
	// logger is that of the program once it is put together.
	logger *slog.Logger
}

// With runs work on the program put together, and takes it apart again.
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

// TellHeld says that a lock is waited for, which another process holds.
func (p *Program) TellHeld(name string) {
	if p.logger != nil {
		p.logger.Warn("waiting for another process, which has locked "+name, "file", name)
		return
	}
	fmt.Fprintf(p.Stderr, "savant: waiting for another process, which has locked %s\n", name)
}

// NameFolder says on stderr which folder a command works in, where that is not the
// working folder and nobody named it.
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

// Line writes a value to stdout as one line of JSON.
func (p *Program) Line(value any) error {
	encoder := json.NewEncoder(p.Stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
