package program

import (
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/test/mongotest"
)

// TestTheHubTellsOfTheQueue: how many questions wait in the database for somebody who
// decides, until a worker answers them.
func TestTheHubTellsOfTheQueue(t *testing.T) {
	t.Parallel()
	folder, flags := t.TempDir(), []string{"--set", "reasoning.transport=mongo", "--mongo-uri", mongotest.Start(t).URI(mongotest.NewDatabase())}
	start := func(args ...string) {
		command := exec.CommandContext(t.Context(), "savant", slices.Concat(args, []string{"--path", folder}, flags)...)
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		require.NoError(t, command.Start())
		t.Cleanup(func() { _ = command.Process.Signal(os.Interrupt); _ = command.Wait() }) // it may have ended
	}
	h := serveHub(t, folder, flags...)
	says := func(count string) {
		t.Helper()
		require.Eventually(t, func() bool { // how things stand is looked at once in some seconds
			_, text, _ := h.ask(&http.Client{}, http.MethodGet, "/metrics", nil)
			return strings.Contains(text, "\nsavant_decision_queue_depth "+count+"\n")
		}, hang, 100*time.Millisecond)
		require.Eventually(t, func() bool {
			return strings.Contains(h.page("/"), "unanswered questions: "+count+";")
		}, hang, 100*time.Millisecond)
	}
	says("0")
	for _, run := range []string{"one", "two"} {
		start("run", "--quiet", "--name", run, "--skip-git", "where is it")
	}
	says("2")
	start("reasoning", "work", "--set", "llm.provider=offline")
	says("0")
}
