package think_test

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"savant/engines/mcpio"
)

// update rewrites the traces of the scenario files with what happened. Read
// the difference: a trace is what docs/language.md says, not what the code does.
var update = flag.Bool("update", false, "rewrite the traces in testdata and workflows")

// serverRoot names the environment variable that makes the test binary an MCP
// server on its standard streams, over the folder that it holds.
const serverRoot = "SAVANT_THINK_TEST_SERVER"

func TestMain(m *testing.M) {
	if root := os.Getenv(serverRoot); root != "" {
		os.Exit(serveFolder(root))
	}
	goleak.VerifyTestMain(m)
}

func serveFolder(root string) int {
	w, err := openWorld(root)
	if err != nil {
		return 2
	}
	defer w.close()
	server, err := mcpio.New(mcpio.Options{Registry: w.registry})
	if err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := server.Serve(ctx, os.Stdin, os.Stdout); err != nil {
		return 1
	}
	return 0
}
