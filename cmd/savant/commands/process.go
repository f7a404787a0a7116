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
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var within, interrupted atomic.Int64
	within.Store(int64(shutdown))
	interrupted.Store(cli.ExitInterrupted)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, ends...)
	go func() {
		sent := <-ended
		signal.Stop(ended) // a second signal ends the process at once
		if number, ok := sent.(syscall.Signal); ok {
			interrupted.Store(128 + int64(number)) // as a shell tells it: 143 of SIGTERM
		}
		cancel()
		time.AfterFunc(time.Duration(within.Load()), func() { os.Exit(int(interrupted.Load())) })
	}()
	// A client may close stderr and continue: then a write fails instead of ending the
	// process. The signal is caught, not ignored, so that child processes start with
	// its default action.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	code := Run(ctx, os.Args[1:], cli.World{Version: version, Environment: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Engines: engines,
		EndWithin: func(longest time.Duration) { within.Store(int64(longest)) }})
	if code == cli.ExitInterrupted {
		return int(interrupted.Load())
	}
	return code
}
