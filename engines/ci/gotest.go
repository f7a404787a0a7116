package ci

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// goReading reads what `go test -json` writes: one event a line, as
// `go doc test2json` describes it. Other lines are shown as they are.
type goReading struct {
	tests *tests
	// failed holds the packages with a failed test. The failure of such a package adds
	// nothing and is not counted.
	failed map[string]bool
	// running holds the tests of a package that have begun and not ended, with the
	// number of the event. If a panic or a timeout ended them, go test writes no other
	// event for them.
	running map[string]map[string]int
	events  int
	partial string // of a line that came in several events
}

type goEvent struct {
	Action, Package, ImportPath, Test, Output string
}

func (g *goReading) line(text string) (string, bool) {
	var event goEvent
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &event) != nil || event.Action == "" {
		return text, true
	}
	switch event.Action {
	case "output", "build-output":
		return g.shown(event.Output)
	case "run", "cont":
		g.began(event)
	case "pause":
		delete(g.running[event.Package], event.Test)
	case "pass", "fail", "skip":
		g.ended(event)
	}
	return "", false
}

// shown joins the parts of a line. Lines that only say that a test began, or
// went on, are left out.
func (g *goReading) shown(text string) (string, bool) {
	g.partial += text
	if !strings.HasSuffix(g.partial, "\n") && len(g.partial) < maxShownLine {
		return "", false
	}
	line := strings.TrimSuffix(g.partial, "\n")
	g.partial = ""
	for _, noise := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "} {
		if strings.HasPrefix(line, noise) {
			return "", false
		}
	}
	return line, true
}

func (g *goReading) ended(event goEvent) {
	how := map[string]ending{"pass": passing, "fail": failing, "skip": skipping}[event.Action]
	switch {
	case event.Test != "":
		delete(g.running[event.Package], event.Test)
		g.tests.count(event.Package+"."+event.Test, how)
		g.failed[event.Package] = g.failed[event.Package] || how == failing
	case how == failing && len(g.running[event.Package]) > 0: // it panicked, or its time was over
		g.unended(event.Package)
	case how == failing && !g.failed[event.Package]: // it did not compile, or ended outside a test
		g.tests.count(event.Package, failing)
	}
	if event.Test == "" {
		delete(g.running, event.Package)
	}
}

// began notes a running test. Benchmarks are left out, since no event says that one
// passed.
func (g *goReading) began(event goEvent) {
	if strings.HasPrefix(event.Test, "Benchmark") {
		return
	}
	if g.running[event.Package] == nil {
		g.running[event.Package] = map[string]int{}
	}
	g.events++
	g.running[event.Package][event.Test] = g.events
}

// unended counts the running tests of a package as failed, in the order they
// began.
func (g *goReading) unended(in string) {
	running := g.running[in]
	for _, test := range slices.SortedFunc(maps.Keys(running), func(a, b string) int { return running[a] - running[b] }) {
		g.tests.count(in+"."+test+" (did not end)", failing)
	}
}

// conclude counts the tests that were running when the output ended: the command
// was ended, or what it wrote was cut.
func (g *goReading) conclude(*os.Root, string, time.Time) (*tests, string) {
	for _, in := range slices.Sorted(maps.Keys(g.running)) {
		g.unended(in)
	}
	return g.tests, ""
}
