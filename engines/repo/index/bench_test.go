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
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
)

// trees returns the trees to measure: Go's own sources and, except in short mode, the
// whole module cache.
func trees(b *testing.B) map[string]string {
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	require.NoError(b, err)
	folders := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(b, folders, 2)
	trees := map[string]string{"go": filepath.Join(folders[0], "src")}
	if !testing.Short() {
		trees["modules"] = folders[1]
	}
	return trees
}

// asked are the words that both the index and ripgrep search for.
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

// builds are the indexes that benchmarks share. Each is built once, in its own process.
var builds = struct {
	sync.Mutex
	byName map[string]measuredBuild
}{byName: map[string]measuredBuild{}}

// measuredBuild is an index with the cost of building it.
type measuredBuild struct {
	cache string
	took  time.Duration
	peak  float64 // MB
}

// buildOf returns the index of a tree and builds it the first time.
func buildOf(b *testing.B, name, folder string) measuredBuild {
	builds.Lock()
	defer builds.Unlock()
	made, done := builds.byName[name]
	if done {
		return made
	}
	warm(b, folder)
	made.cache = filepath.Join(builtFolder(), name)
	start := time.Now()
	made.peak = buildInChild(b, folder, made.cache)
	made.took = time.Since(start)
	builds.byName[name] = made
	return made
}

// warm reads a tree, so that a build does not measure the disk.
func warm(b *testing.B, folder string) {
	require.NoError(b, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			_, err = os.ReadFile(path)
		}
		return err
	}))
}

// BenchmarkBuild measures the rate of a build, the size of the index relative to the
// text, and the peak of memory.
func BenchmarkBuild(b *testing.B) {
	for name, folder := range trees(b) {
		b.Run(name, func(b *testing.B) {
			made := buildOf(b, name, folder)
			status, err := open(b, folder, made.cache).Status(context.Background())
			require.NoError(b, err)
			b.ReportMetric(float64(status.Bytes)/1e6/made.took.Seconds(), "MB/s")
			b.ReportMetric(float64(status.IndexBytes)/float64(status.Bytes), "index/text")
			b.ReportMetric(float64(status.Files), "files")
			b.ReportMetric(made.peak, "peak-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// buildInChild returns the peak of resident memory in MB, or 0 if it is not known.
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

// BenchmarkQuery compares queries with `rg -c`, in turns. search is the query alone.
// first, second and third are a process's first queries, including opening the index
// and looking for changes; later is a later one. looked checks every file, as on
// systems whose kernel does not report changes.
func BenchmarkQuery(b *testing.B) {
	ripgrep, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("RIPGREP IS NOT ON PATH: QUERIES WERE NOT COMPARED WITH IT")
	}
	for name, folder := range trees(b) {
		b.Run(name, func(b *testing.B) {
			cache := buildOf(b, name, folder).cache
			ix, unwatched := open(b, folder, cache), open(b, folder, cache)
			require.NoError(b, index.Tree(unwatched).StopWatching())
			refresh(b, unwatched)
			refresh(b, ix)
			refresh(b, ix) // the second look begins to watch
			var searched, first, second, third, later, looked, grepped samples
			for i := 0; b.Loop(); i++ {
				query := words(asked[i%len(asked)])
				grepped.time(func() { _ = exec.Command(ripgrep, "-c", "--no-ignore", query.Text, folder).Run() }) // 1: nothing found
				searched.time(func() { answerQuickly(b, ix, query) })
				later.time(func() { find(b, ix, query) })
				looked.time(func() { find(b, unwatched, query) })
				var another *index.Index
				first.time(func() { another = opened(b, folder, cache); find(b, another, query) })
				second.time(func() { find(b, another, query) })
				third.time(func() { find(b, another, query) })
				require.NoError(b, another.Close())
			}
			rg := grepped.quantile(0.5)
			b.ReportMetric(searched.quantile(0.5), "p50-ms")
			b.ReportMetric(searched.quantile(0.95), "p95-ms")
			b.ReportMetric(rg, "rg-p50-ms")
			for unit, each := range map[string]samples{"search/rg": searched, "first/rg": first, "second/rg": second, "third/rg": third, "later/rg": later, "looked/rg": looked} {
				b.ReportMetric(each.quantile(0.5)/rg, unit)
			}
		})
	}
}

func answerQuickly(b *testing.B, ix *index.Index, query index.Query) {
	_, err := ask(ix, query)
	require.NoError(b, err)
}

// BenchmarkUpdate measures the Refresh after 1 and 100 of 5,000 files changed; none is
// a Refresh that finds nothing.
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

// BenchmarkSearch compares searches in Go's sources with a walk that reads each file's
// status, in turns. first/walk is the first search of a process, including opening the
// index; later/walk is a later search.
func BenchmarkSearch(b *testing.B) {
	folder := trees(b)["go"]
	cache := buildOf(b, "go", folder).cache
	ix := open(b, folder, cache)
	refresh(b, ix)
	refresh(b, ix) // the second look begins to watch
	var walked, first, later samples
	for i := 0; b.Loop(); i++ {
		query := words(asked[i%len(asked)])
		walked.time(func() { walk(b, folder) })
		later.time(func() { find(b, ix, query) })
		var another *index.Index
		first.time(func() { another = opened(b, folder, cache); find(b, another, query) })
		require.NoError(b, another.Close())
	}
	b.ReportMetric(first.quantile(0.5)/walked.quantile(0.5), "first/walk")
	b.ReportMetric(later.quantile(0.5)/walked.quantile(0.5), "later/walk")
	b.ReportMetric(walked.quantile(0.5), "walk-p50-ms")
}

func walk(b *testing.B, folder string) {
	require.NoError(b, filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error {
		if err == nil {
			_, err = entry.Info()
		}
		return err
	}))
}

// BenchmarkManyChanges measures the search after 1,000 of Go's sources changed:
// changed/read relative to reading those files once, changed/build relative to the
// first search, which builds the index.
func BenchmarkManyChanges(b *testing.B) {
	folder := b.TempDir()
	require.NoError(b, os.CopyFS(folder, os.DirFS(trees(b)["go"])))
	require.NoError(b, exec.Command("git", "init", "-q", folder).Run())
	ix := open(b, folder, b.TempDir())
	var built, took, read samples
	built.time(func() { find(b, ix, words("checksum")) })
	sources := everyOther(b, folder, 1000)
	for i := 0; b.Loop(); i++ {
		for _, name := range sources {
			text, err := os.ReadFile(name)
			require.NoError(b, err)
			require.NoError(b, os.WriteFile(name, fmt.Appendf(text, "\n// changed%d\n", i), 0o644))
		}
		read.time(func() {
			for _, name := range sources {
				_, err := os.ReadFile(name)
				require.NoError(b, err)
			}
		})
		took.time(func() { find(b, ix, words("checksum")) })
	}
	b.ReportMetric(took.quantile(0.5), "p50-ms")
	b.ReportMetric(took.quantile(0.5)/read.quantile(0.5), "changed/read")
	b.ReportMetric(took.quantile(0.5)/built.quantile(0.5), "changed/build")
}

// everyOther returns some of the Go files of a folder, from all of it.
func everyOther(b *testing.B, folder string, number int) (chosen []string) {
	var all []string
	require.NoError(b, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Ext(path) == ".go" {
			all = append(all, path)
		}
		return err
	}))
	for i := range number {
		chosen = append(chosen, all[i*len(all)/number])
	}
	return chosen
}
