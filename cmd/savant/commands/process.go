package commands

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
)

// shutdown bounds the program's shutdown after a signal. Acknowledged records are on disk
// by then, and child processes end with the program.
const shutdown = 1800 * time.Millisecond

// Start runs the program in this process and returns its exit code. engines, if not
// nil, registers the engines in place of Savant's.
func Start(version string, engines func(*app.App) error) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP) // a closed terminal ends the program and its children
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	var within atomic.Int64
	within.Store(int64(shutdown))
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once
		time.AfterFunc(time.Duration(within.Load()), func() { os.Exit(cli.ExitInterrupted) })
	})
	// A client may close stderr and continue: then a write fails instead of ending the
	// process. The signal is caught, not ignored, so that child processes start with
	// its default action.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return Run(ctx, os.Args[1:], cli.World{Version: version, Environment: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Engines: engines,
		EndWithin: func(longest time.Duration) { within.Store(int64(longest)) }})
}
