package ci

import (
	"os"
	"strings"
	"time"

	"savant/internal/redact"
)

// tests is what a parser found in the output of a command. A test with subtests counts
// as one more.
type tests struct {
	passed, failed, skipped int
	// failedTests and skippedTests are bounded; the counts are not.
	failedTests, skippedTests []string
}

// Bounds of the names in a report.
const (
	maxNames = 50
	maxName  = 200
)

// ending is how one test ended.
type ending int

const (
	passing ending = iota
	failing
	skipping
)

func (t *tests) count(name string, how ending) {
	switch how {
	case passing:
		t.passed++
	case failing:
		t.failed++
		t.failedTests = named(t.failedTests, name)
	case skipping:
		t.skipped++
		t.skippedTests = named(t.skippedTests, name)
	}
}

func named(names []string, name string) []string {
	if len(names) == maxNames {
		return names
	}
	name = plain(strings.ReplaceAll(name, "\n", " "))
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return append(names, name)
}

// report writes what was found into a report, secrets replaced in the names.
// A nil t writes nothing.
func (t *tests) report(into *Report, hidden *redact.Redactor) {
	if t == nil {
		return
	}
	for _, names := range [][]string{t.failedTests, t.skippedTests} {
		for i := range names {
			names[i] = hidden.Text(names[i])
		}
	}
	into.Passed, into.Failed, into.Skipped = &t.passed, &t.failed, &t.skipped
	into.FailedTests, into.SkippedTests = t.failedTests, t.skippedTests
}

// noTest is the note of a command in whose output the parser found no test. Its exit
// code may be 0.
const noTest = "no test was found in the output; is the parser right?"

// noneRan is the note where tests were found, and none of them ran.
const noneRan = "no test ran: all that were found were skipped"

// allSkipped says whether there are tests of which none ran.
func (t *tests) allSkipped() bool { return t != nil && t.passed+t.failed == 0 && t.skipped > 0 }

// none says whether a parser looked for tests and found none.
func (t *tests) none() bool { return t != nil && t.passed+t.failed+t.skipped == 0 }

// reading finds tests in a command's output. Its methods are called one after
// the other.
type reading interface {
	// line takes a line of the standard output and returns what a person would
	// want to see of it, if anything.
	line(text string) (shown string, visible bool)
	// conclude returns what was found, nil where nothing was looked for, and a note
	// where something is missing. dir is the command's folder, report the
	// path of what it was to write there, started when it began.
	conclude(dir *os.Root, report string, started time.Time) (*tests, string)
}

// The parsers, as ci.yaml names them.
const (
	parserGo    = "go-test-json"
	parserJUnit = "junit"
	parserTAP   = "tap"
	parserNone  = "none"
)

func parserNames() []string { return []string{parserGo, parserJUnit, parserTAP, parserNone} }

func newReading(parser string) reading {
	switch parser {
	case parserGo:
		return &goReading{tests: &tests{}, failed: map[string]bool{}, running: map[string]map[string]int{}}
	case parserJUnit:
		return &junitReading{tests: &tests{}}
	case parserTAP:
		return &tapReading{tests: &tests{}}
	}
	return noReading{}
}

// noReading is the parser of commands that run no tests.
type noReading struct{}

func (noReading) line(text string) (string, bool)                       { return text, true }
func (noReading) conclude(*os.Root, string, time.Time) (*tests, string) { return nil, "" }
