// Command savant guides a language model through a workflow: it serves the
// Model Context Protocol on its standard streams, and is the command line for
// the people who write workflows and approve what runs ask.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker: see the Makefile.
var version string

func main() { os.Exit(start()) }

// start runs the program in this process and returns its exit code.
func start() int { return startWith((*house).addEngines) }

func startWith(engines furnishing) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP) // a terminal that is closed leaves no children
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	// A client may close stderr and go on: what is written there then fails
	// instead of ending the process. Caught, not ignored, so that child
	// processes start with the usual behaviour.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return newProgram(os.Environ(), os.Stdin, os.Stdout, os.Stderr, engines).run(ctx, os.Args[1:])
}
