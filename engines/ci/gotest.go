package ci

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// goReading parses the output of `go test -json`: one event per line, see `go doc
// test2json`. Other lines are shown unchanged.
type goReading struct {
	tests *tests
	// failed holds the packages with a failed test. The failure of such a package is
	// not counted again.
	failed map[string]bool
	// running holds the running tests of a package, with the number of their start
	// event. If a panic or a timeout ends them, go test writes no further event for
	// them.
	running map[string]map[string]int
	events  int
	partial string // an incomplete line from several events
}

type goEvent struct {
	Action, Package, Test, Output string
}

func (g *goReading) line(text string) (string, bool) {
	var event goEvent
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &event) != nil || event.Action == "" {
		return text, true
	}
	switch event.Action {
	case "output", "build-output":
		return g.visibleLine(event.Output)
	case "run", "cont":
		g.began(event)
	case "pause":
		delete(g.running[event.Package], event.Test)
	case "pass", "fail", "skip":
		g.endTest(event)
	}
	return "", false
}

// visibleLine joins the parts of a line and omits lines that only report a start or a
// continuation.
func (g *goReading) visibleLine(text string) (string, bool) {
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

func (g *goReading) endTest(event goEvent) {
	how := map[string]ending{"pass": passing, "fail": failing, "skip": skipping}[event.Action]
	switch {
	case event.Test != "":
		delete(g.running[event.Package], event.Test)
		g.tests.count(event.Package+"."+event.Test, how)
		g.failed[event.Package] = g.failed[event.Package] || how == failing
	case how == failing && len(g.running[event.Package]) > 0: // a panic or a timeout
		g.unended(event.Package)
	case how == failing && !g.failed[event.Package]: // it did not compile, or failed outside a test
		g.tests.count(event.Package, failing)
	}
	if event.Test == "" {
		delete(g.running, event.Package)
	}
}

// began records a running test. Benchmarks are omitted, since no event reports that one
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

// unended counts the running tests of a package as failed, in the order of their start.
func (g *goReading) unended(in string) {
	running := g.running[in]
	for _, test := range slices.SortedFunc(maps.Keys(running), func(a, b string) int { return running[a] - running[b] }) {
		g.tests.count(in+"."+test+" (did not end)", failing)
	}
}

// conclude counts the tests that were running when the output ended: the command was
// ended, or its output truncated.
func (g *goReading) conclude(*os.Root, string, time.Time) (*tests, string) {
	for _, in := range slices.Sorted(maps.Keys(g.running)) {
		g.unended(in)
	}
	return g.tests, ""
}
