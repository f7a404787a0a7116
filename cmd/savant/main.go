// Command savant guides a language model through a workflow: it serves the
// Model Context Protocol on its standard streams, and is the command line for
// the people who write workflows and approve what runs ask.
package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands"
)

// version is set by the linker: see the Makefile.
var version string

func main() { os.Exit(start(nil)) }

// ending is how long the program may take to end after a signal, whatever it waits
// for. What it has acknowledged is on disk, and its children end with it.
const ending = 1800 * time.Millisecond

// start runs the program in this process, with engines in the place of its own
// where they are given, and returns its exit code.
func start(engines func(*app.App) error) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP) // a terminal that is closed leaves no children
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	var within atomic.Int64
	within.Store(int64(ending))
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once
		time.AfterFunc(time.Duration(within.Load()), func() { os.Exit(cli.ExitInterrupted) })
	})
	// A client may close stderr and go on: what is written there then fails
	// instead of ending the process. It is caught, not ignored, so that child
	// processes start with the usual behaviour.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return commands.Run(ctx, os.Args[1:], cli.World{Version: version, Environment: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Engines: engines,
		EndWithin: func(longest time.Duration) { within.Store(int64(longest)) }})
}
