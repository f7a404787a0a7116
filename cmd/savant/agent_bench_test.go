package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkFirstQuestion takes the time from the start of `savant run` to its
// first question over loopback HTTP, in a git repository, beside `savant
// --version`: what any start of the program costs.
func BenchmarkFirstQuestion(b *testing.B) {
	arrived := make(chan time.Time, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- time.Now()
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, `{"action":"finish","final":"done"}`)
	}))
	defer api.Close()
	folder := b.TempDir()
	environment := append(os.Environ(), "SAVANT_PATH="+folder, "REASONING_API_URL="+api.URL, "LOG_LEVEL=error", "XDG_CACHE_HOME="+b.TempDir())
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "x"}} {
		require.NoError(b, exec.Command("git", append([]string{"-C", folder}, args...)...).Run())
	}
	binary := build(b)
	var first, start samples
	for b.Loop() {
		version := exec.Command(binary, "--version")
		version.Env = environment
		start.time(func() { require.NoError(b, version.Run()) })
		command := exec.Command(binary, "run", "--quiet", "what is it?")
		command.Env = environment
		began := time.Now()
		require.NoError(b, command.Start())
		first = append(first, (<-arrived).Sub(began))
		require.NoError(b, command.Wait())
	}
	b.ReportMetric(first.median(), "first-ms")
	b.ReportMetric(start.median(), "version-ms")
	b.ReportMetric(first.median()/start.median(), "first/version")
}
