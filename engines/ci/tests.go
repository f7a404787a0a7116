package ci

import (
	"os"
	"strings"
	"time"

	"savant/internal/redact"
)

// tests is what a parser found in a command's output. A parent of subtests counts as a
// test.
type tests struct {
	passed, failed, skipped int
	// failedTests and skippedTests are bounded; the counts are not.
	failedTests, skippedTests []string
}

// Limits of the names in a report.
const (
	maxNames = 50
	maxName  = 200
)

// ending is the result of one test.
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
		t.failedTests = appendName(t.failedTests, name)
	case skipping:
		t.skipped++
		t.skippedTests = appendName(t.skippedTests, name)
	}
}

func appendName(names []string, name string) []string {
	if len(names) == maxNames {
		return names
	}
	name = plain(strings.ReplaceAll(name, "\n", " "))
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return append(names, name)
}

// report adds the tests to a report, with redacted names. A nil t adds nothing.
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

// noTest is the note if the parser found no test. The exit code may still be 0.
const noTest = "no test was found in the output; is the parser right?"

// noneRan is the note if all tests were skipped.
const noneRan = "no test ran: all tests that were found were skipped"

// allSkipped reports whether there are tests of which none ran.
func (t *tests) allSkipped() bool { return t != nil && t.passed+t.failed == 0 && t.skipped > 0 }

// none reports whether a parser looked for tests and found none.
func (t *tests) none() bool { return t != nil && t.passed+t.failed+t.skipped == 0 }

// testReader finds tests in a command's output. Its methods are not called concurrently.
type testReader interface {
	// line takes a line of the standard output and returns its readable form, if it
	// should be shown.
	line(text string) (shown string, visible bool)
	// conclude returns the tests, or nil without a parser, and a note if something is
	// missing. dir is the command's folder, report the path of its report there,
	// started the time of its start.
	conclude(dir *os.Root, report string, started time.Time) (*tests, string)
}

// The parsers in ci.yaml.
const (
	parserGo    = "go-test-json"
	parserJUnit = "junit"
	parserTAP   = "tap"
	parserNone  = "none"
)

func parserNames() []string { return []string{parserGo, parserJUnit, parserTAP, parserNone} }

func newReading(parser string) testReader {
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

// noReading is the parser of commands without tests.
type noReading struct{}

func (noReading) line(text string) (string, bool)                       { return text, true }
func (noReading) conclude(*os.Root, string, time.Time) (*tests, string) { return nil, "" }
