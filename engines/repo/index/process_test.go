package index_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
)

// These environment variables make the test program only build an index.
const (
	childFolder = "INDEX_TEST_FOLDER"
	childCache  = "INDEX_TEST_CACHE"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(childFolder); folder != "" {
		os.Exit(child(folder, os.Getenv(childCache)))
	}
	code := m.Run()
	if err := os.RemoveAll(builtFolder()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// builtFolder is where benchmarks keep the indexes they share.
func builtFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprint("savant-index-bench-", os.Getpid()))
}

// child builds an index and prints its progress, then its peak of memory.
func child(folder, cache string) int {
	ix, err := index.Open(context.Background(), index.Options{Folder: folder, CacheFolder: cache})
	if err == nil {
		_, err = ix.Refresh(context.Background(), func(done, _ int) { fmt.Println("done", done) })
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	status, err := os.ReadFile("/proc/self/status")
	for line := range strings.SplitSeq(string(status), "\n") {
		if peak, ok := strings.CutPrefix(line, "VmHWM:"); ok && err == nil {
			fmt.Println("peak", strings.Fields(peak)[0])
		}
	}
	return 0
}

func childCommand(folder, cache string) *exec.Cmd {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childFolder+"="+folder, childCache+"="+cache, "GORACE=atexit_sleep_ms=0") // else a race build sleeps a second at its end
	return command
}

// TestKilledWhileBuilding checks that the work of a killed process is kept and that
// another process continues it.
func TestKilledWhileBuilding(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	const files = 1100
	for i := range files {
		write(t, folder, filepath.Join(fmt.Sprint("d", i%20), fmt.Sprint(i, ".txt")), "needle number\n")
	}
	killed := childCommand(folder, cache)
	stdout, err := killed.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, killed.Start())
	_, err = stdout.Read(make([]byte, 10)) // the first batch is written
	require.NoError(t, err)
	require.NoError(t, killed.Process.Kill())
	_ = killed.Wait() // it was killed
	ix := open(t, folder, cache)
	status, err := ix.Status(context.Background())
	require.NoError(t, err)
	require.Positive(t, status.Files)
	require.Equal(t, files-status.Files, refresh(t, ix).Updated)
	require.Len(t, search(t, ix, index.Query{Text: "needle", Limit: 50}), 50)
}

// TestTwoProcessesAtOnce checks that two processes can build an index at once.
func TestTwoProcessesAtOnce(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	for i := range 1100 {
		write(t, folder, fmt.Sprint(i, ".txt"), "needle\n")
	}
	first, second := childCommand(folder, cache), childCommand(folder, cache)
	require.NoError(t, first.Start())
	require.NoError(t, second.Start())
	require.NoError(t, first.Wait())
	require.NoError(t, second.Wait())
	ix := open(t, folder, cache)
	deadline := time.Now().Add(time.Minute)
	for refresh(t, ix).Updated > 0 {
		require.True(t, time.Now().Before(deadline), "the index does not settle")
	}
	status, err := ix.Status(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1100, status.Files)
}
