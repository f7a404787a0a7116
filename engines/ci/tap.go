package ci

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"savant/internal/pattern"
)

// tapReading parses the Test Anything Protocol, versions 12 to 14: test points at any
// depth, SKIP and TODO directives, a plan that skips all, and a bail out.
type tapReading struct {
	tests *tests
	// suites are the names of the enclosing subtests.
	suites []string
	// details is the end marker of the current YAML block, or empty.
	details string
	// plans are the plans of the document and of its open subtests, by depth.
	plans []tapPlan
	// bailed: a bail out ended the tests, which counts as one failure.
	bailed bool
}

var (
	tapPoint     = pattern.Lazy(`^( *)(not )?ok\b(?: +(\d+))?(?: +-)? *(.*)$`)
	tapDirective = pattern.Lazy(`(?i)(^|[^\\])# *(skip\S*|todo\b)`)
	tapSkipAll   = pattern.Lazy(`(?i)^1\.\.0\b *# *skip\S* *(.*)$`)
	tapSubtest   = pattern.Lazy(`^( *)# Subtest: ?(.*)$`)
	tapBailOut   = pattern.Lazy(`(?i)^ *bail out!\s*(.*)$`)
	tapTime      = pattern.Lazy(` # time=[0-9.]+ *m?s$`)
)

// tapEscapes are the escapes of TAP 14.
var tapEscapes = strings.NewReplacer(`\\`, `\`, `\#`, `#`)

// tapIndent is the indentation of a subtest, in spaces. Subtests nested deeper than
// tapDepth count as subtests at that depth.
const (
	tapIndent = 4
	tapDepth  = 64
)

func depthOf(indentation string) int { return min(len(indentation)/tapIndent, tapDepth) }

func (t *tapReading) line(text string) (string, bool) {
	line := strings.TrimRight(text, "\r")
	if t.inDetails(line) {
		return text, true
	}
	if match := tapBailOut().FindStringSubmatch(line); match != nil {
		t.tests.count("bail out: "+match[1], failing)
		t.bailed = true
	} else if match := tapPlanLine().FindStringSubmatch(line); match != nil {
		t.plan(depthOf(match[1]), tapNumber(match[2]))
		if match := tapSkipAll().FindStringSubmatch(line); match != nil {
			t.tests.count("all tests: "+match[1], skipping)
			t.close(0)
		}
	} else if tapVersion().MatchString(line) {
		t.close(0)
	} else if match := tapSubtest().FindStringSubmatch(line); match != nil {
		t.enter(depthOf(match[1]), match[2])
	} else if match := tapPoint().FindStringSubmatch(line); match != nil {
		t.point(depthOf(match[1]), match[2] != "", match[3], match[4])
	}
	return text, true
}

// inDetails reports whether a line belongs to the YAML block after a test point. Such a
// line may look like a test point.
func (t *tapReading) inDetails(line string) bool {
	if t.details != "" {
		within := strings.TrimSpace(line) == "" || strings.HasPrefix(line, strings.TrimRight(t.details, "."))
		if line == t.details || !within { // an unterminated block ends with its indentation
			t.details = ""
		}
		return within
	}
	if indent, begins := strings.CutSuffix(line, "---"); begins && len(indent)%tapIndent == 2 && strings.Trim(indent, " ") == "" {
		t.details = indent + "..."
	}
	return t.details != ""
}

// enter records the name of the next, deeper subtest.
func (t *tapReading) enter(depth int, name string) {
	t.close(depth + 1)
	t.suites = append(t.suites[:min(depth, len(t.suites))], name)
}

// plan records the announced number of points of a document or subtest. A second plan
// begins the next document.
func (t *tapReading) plan(depth, length int) {
	if t.open(depth).planned {
		t.close(depth)
	}
	open := t.open(depth)
	open.planned, open.length = true, length
}

// open returns the plan of a depth, opening it and the enclosing ones.
func (t *tapReading) open(depth int) *tapPlan {
	t.close(depth + 1)
	for len(t.plans) <= depth {
		t.plans = append(t.plans, tapPlan{})
	}
	return &t.plans[depth]
}

// close ends the documents at a depth and below. Points missing from the plan or beyond
// it count as failed.
func (t *tapReading) close(depth int) {
	for last := len(t.plans) - 1; last >= depth; last-- {
		for _, each := range t.plans[last].failures() {
			if !t.bailed {
				t.tests.count(strings.Join(append(slices.Clone(t.suites[:min(last, len(t.suites))]), each), " > "), failing)
			}
		}
		t.plans = t.plans[:last]
	}
}

// point counts a test point, which also ends the subtests below it.
func (t *tapReading) point(depth int, failed bool, number, description string) {
	if open := t.open(depth); number == "1" && open.complete() {
		t.close(depth)
	}
	t.open(depth).result(number)
	how := passing
	if failed {
		how = failing
	}
	if at := tapDirective().FindStringIndex(description); at != nil {
		if word := strings.ToLower(description[at[0]:at[1]]); strings.Contains(word, "skip") || failed {
			how = skipping // a TODO is expected to fail
		}
		description = strings.TrimRight(description[:at[0]+strings.Index(description[at[0]:], "#")], " ")
	}
	description = tapTime().ReplaceAllString(description, "")
	description = tapEscapes.Replace(description)
	t.suites = t.suites[:min(depth, len(t.suites))]
	t.tests.count(strings.Join(append(slices.Clone(t.suites), cmp.Or(description, strings.TrimSpace("test "+number))), " > "), how)
}

func (t *tapReading) conclude(*os.Root, string, time.Time) (*tests, string) {
	t.close(0)
	return t.tests, ""
}
