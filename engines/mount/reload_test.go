package mount_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

// servers writes a file of fakes, by name and mode.
func (w *world) servers(named ...string) string {
	text := ""
	for i := 0; i < len(named); i += 2 {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%q: %s", named[i], fakeEntry(w.t, named[i+1], ""))
	}
	return `{"mcpServers": {` + text + `}}`
}

func (w *world) reload(config string) {
	w.t.Helper()
	w.write(".savant/mcp.json", config)
	w.mounts.Reload()
}

func shownAll(string) bool { return true }

// TestServersComeAndGo with the file, and those that stay are not disturbed.
func TestServersComeAndGo(t *testing.T) {
	w := newWorld(t, "{}")
	w.write(".savant/mcp.json", w.servers("stays", "good", "goes", "good"))
	w.open().discover()
	require.Equal(t, []string{"git", "goes", "stays"}, w.registry.Engines())
	pid := w.called("stays.echo", "child")
	version := w.registry.Version()

	w.mounts.Reload()
	require.Equal(t, version, w.registry.Version(), "the file is as it was")

	w.reload(w.servers("stays", "good", "comes", "good"))
	require.Equal(t, []string{"comes", "git", "stays"}, w.registry.Engines())
	require.Greater(t, w.registry.Version(), version, "clients are told")
	_, err := w.call("goes.echo", "")
	require.ErrorIs(t, err, fault.UnknownTool)
	require.Equal(t, engines.Ready, w.status("stays").State, "it was not started anew: %s", pid)
	w.mounts.Seek(t.Context(), "comes_echo", shownAll)
	require.Equal(t, []string{"comes.echo"}, w.status("comes").Tools)

	w.reload(w.servers("comes", "crash-first", "stays", "good"))
	require.Equal(t, engines.Idle, w.status("comes").State, "it ended, and starts in the new way")
	require.Equal(t, []string{"comes.echo"}, w.status("comes").Tools, "as they were approved")
	w.reload("{}")
	require.Equal(t, []string{"git"}, w.registry.Engines())
}

// TestABrokenFileKeepsTheServers until it is mended.
func TestABrokenFileKeepsTheServers(t *testing.T) {
	w := newWorld(t, "{}")
	good := w.servers("one", "good")
	w.write(".savant/mcp.json", good)
	w.open().discover()
	w.reload(`{"mcpServers": {`)
	require.Len(t, w.mounts.Problems(), 1)
	require.Contains(t, w.log.String(), "unexpected end of JSON input")
	require.NotEmpty(t, w.called("one.echo", ""))
	w.reload(good + "\n")
	require.Empty(t, w.mounts.Problems())
	require.Equal(t, engines.Ready, w.status("one").State, "it is the one that was there")
}

// TestOnlyWhoMayHaveAToolIsAsked: a server is started for a name that begins
// with its own, and for no other; what is not shown is not started.
func TestOnlyWhoMayHaveAToolIsAsked(t *testing.T) {
	w := newWorld(t, "{}")
	w.write(".savant/mcp.json", w.servers("one", "good", "two", "good", "two_b", "good"))
	w.open()
	for _, name := range []string{"other.echo", "o", "twob.echo", "git.echo"} {
		w.mounts.Seek(t.Context(), name, shownAll)
	}
	w.mounts.Seek(t.Context(), "one.echo", func(string) bool { return false })
	for _, name := range []string{"one", "two", "two_b"} {
		require.Empty(t, w.status(name).Tools)
	}
	w.mounts.Seek(t.Context(), "one.echo", shownAll)
	require.Equal(t, []string{"one.echo"}, w.status("one").Tools)
	w.mounts.Seek(t.Context(), "two_b_echo", shownAll)
	require.Equal(t, []string{"two_b.echo"}, w.status("two_b").Tools)
}

// TestFollowTakesOverTheFile, without a call or a list.
func TestFollowTakesOverTheFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "{}").open()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.mounts.Follow(ctx, shownAll)
	}()
	w.write(".savant/mcp.json", w.servers("comes", "good"))
	require.Eventually(t, func() bool { _, known := w.registry.Resolve("comes.echo"); return known }, time.Minute, 10*time.Millisecond)
	cancel()
	<-over
}

// TestWhatWasListedIsThereAtOnce: the next process has the tools before it
// starts anything.
func TestWhatWasListedIsThereAtOnce(t *testing.T) {
	w := newWorld(t, "{}")
	w.write(".savant/mcp.json", w.servers("one", "good"))
	w.open().discover()
	w.mounts.Close()
	again := w.open()
	require.Equal(t, engines.Idle, again.status("one").State)
	require.Equal(t, []string{"one.echo"}, again.status("one").Tools)
	require.NotEmpty(t, again.called("one.echo", ""))
}
