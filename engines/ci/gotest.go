package ci

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"
)

// goReading reads what `go test -json` writes: one event a line, as
// `go doc test2json` describes it. Lines that are none are shown as they are.
type goReading struct {
	tests *tests
	// failed are the packages of which a test failed, so that the package's
	// own failure says nothing new.
	failed map[string]bool
	// running are the tests of a package that have begun and not ended, in that
	// order: what a panic or the end of its time ended is said nowhere else.
	running map[string][]string
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
		g.running[event.Package] = append(g.without(event), event.Test)
	case "pause":
		g.running[event.Package] = g.without(event)
	case "pass", "fail", "skip":
		g.ended(event)
	}
	return "", false
}

// shown joins the parts of a line. Lines that only say that a test began, or
// went on, are for nobody.
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
		g.running[event.Package] = g.without(event)
		g.tests.count(event.Package+"."+event.Test, how)
		g.failed[event.Package] = g.failed[event.Package] || how == failing
	case how == failing && len(g.running[event.Package]) > 0: // it panicked, or its time was over
		for _, test := range g.running[event.Package] {
			g.tests.count(event.Package+"."+test+" (did not end)", failing)
		}
	case how == failing && !g.failed[event.Package]: // it did not compile, or ended outside a test
		g.tests.count(event.Package, failing)
	}
	if event.Test == "" {
		delete(g.running, event.Package)
	}
}

// without returns the running tests of a package but one.
func (g *goReading) without(event goEvent) []string {
	return slices.DeleteFunc(g.running[event.Package], func(test string) bool { return test == event.Test })
}

func (g *goReading) conclude(*os.Root, string, time.Time) (*tests, string) { return g.tests, "" }
