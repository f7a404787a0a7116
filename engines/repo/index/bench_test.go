package index_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
)

// trees are real ones: Go's own sources, and a module cache's part that this
// project uses.
func trees(b *testing.B) map[string]string {
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	require.NoError(b, err)
	folders := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(b, folders, 2)
	return map[string]string{"go": filepath.Join(folders[0], "src"), "modules": folders[1]}
}

// asked are the words that both this index and ripgrep are asked for.
var asked = []string{"handler", "deadline", "readFile", "checksum", "marshal", "canceled", "tokenizer", "goroutine", "histogram", "certificate"}

type samples []time.Duration

func (s *samples) time(f func()) {
	start := time.Now()
	f()
	*s = append(*s, time.Since(start))
}

// quantile returns a duration in milliseconds.
func (s samples) quantile(q float64) float64 {
	sorted := slices.Sorted(slices.Values(s))
	return float64(sorted[int(q*float64(len(sorted)-1))]) / float64(time.Millisecond)
}

// BenchmarkBuild builds an index in a process of its own and takes its rate,
// its size beside the text, and its peak of memory.
func BenchmarkBuild(b *testing.B) {
	for name, folder := range trees(b) {
		b.Run(name, func(b *testing.B) {
			var took samples
			var status index.Status
			var peak float64
			for range 2 { // the first warms the page cache, also where b.Loop would run once
				cache := b.TempDir()
				took.time(func() { peak = max(peak, buildInChild(b, folder, cache)) })
				ix := open(b, folder, cache)
				var err error
				status, err = ix.Status(context.Background())
				require.NoError(b, err)
			}
			seconds := float64(slices.Min(took)) / float64(time.Second)
			b.ReportMetric(float64(status.Bytes)/1e6/seconds, "MB/s")
			b.ReportMetric(float64(status.IndexBytes)/float64(status.Bytes), "index/text")
			b.ReportMetric(float64(status.Files), "files")
			b.ReportMetric(peak, "peak-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// buildInChild returns the peak of resident memory in MB, 0 where it is not known.
func buildInChild(b *testing.B, folder, cache string) (peak float64) {
	out, err := childCommand(folder, cache).Output()
	require.NoError(b, err, string(out))
	if _, after, ok := strings.Cut(string(out), "peak "); ok {
		kilobytes, err := strconv.ParseFloat(strings.TrimSpace(after), 64)
		require.NoError(b, err)
		peak = kilobytes / 1000
	}
	return peak
}

// BenchmarkQuery asks for words beside `rg -c`, in turns. search is the query
// alone; fresh looks for changes first, as the tools do.
func BenchmarkQuery(b *testing.B) {
	ripgrep, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("RIPGREP IS NOT ON PATH: QUERIES WERE NOT COMPARED WITH IT")
	}
	for name, folder := range trees(b) {
		b.Run(name, func(b *testing.B) {
			ix := open(b, folder, b.TempDir())
			refresh(b, ix)
			var searched, fresh, grepped samples
			for i := 0; b.Loop(); i++ {
				query := words(asked[i%len(asked)])
				grepped.time(func() { _ = exec.Command(ripgrep, "-c", "--no-ignore", query.Text, folder).Run() }) // 1: nothing found
				searched.time(func() { answerQuickly(b, ix, query) })
				fresh.time(func() { refresh(b, ix); answerQuickly(b, ix, query) })
			}
			b.ReportMetric(searched.quantile(0.5), "p50-ms")
			b.ReportMetric(searched.quantile(0.95), "p95-ms")
			b.ReportMetric(fresh.quantile(0.5), "fresh-p50-ms")
			b.ReportMetric(grepped.quantile(0.5), "rg-p50-ms")
			b.ReportMetric(searched.quantile(0.5)/grepped.quantile(0.5), "search/rg")
			b.ReportMetric(fresh.quantile(0.5)/grepped.quantile(0.5), "fresh/rg")
		})
	}
}

func answerQuickly(b *testing.B, ix *index.Index, query index.Query) {
	_, err := ix.Search(context.Background(), query)
	require.NoError(b, err)
}

// BenchmarkUpdate changes 1 and 100 of 5,000 files and takes the Refresh that
// follows; none is a Refresh that finds nothing.
func BenchmarkUpdate(b *testing.B) {
	folder := b.TempDir()
	for i := range 5000 {
		write(b, folder, fmt.Sprintf("d%d/f%d.go", i%100, i), strings.Repeat(fmt.Sprintf("func name%d() { call%d() }\n", i, i%77), 100))
	}
	require.NoError(b, exec.Command("git", "init", "-q", folder).Run())
	ix := open(b, folder, b.TempDir())
	refresh(b, ix)
	for _, changed := range []int{0, 1, 100} {
		b.Run(fmt.Sprint(changed), func(b *testing.B) {
			var took samples
			for i := 0; b.Loop(); i++ {
				for j := range changed {
					require.NoError(b, os.WriteFile(filepath.Join(folder, fmt.Sprintf("d%d/f%d.go", j, j)), fmt.Appendf(nil, "func now%dx%d() {}\n", i, j), 0o644))
				}
				took.time(func() { refresh(b, ix) })
			}
			b.ReportMetric(took.quantile(0.5), "p50-ms")
		})
	}
}
