package ci

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"savant/engines"
	"savant/internal/pattern"
	"savant/internal/redact"
)

// Limits of a command's stored output.
const (
	maxTailLines = 200
	maxTailBytes = 16 << 10
	// maxShownLine is the maximum length of a shown line, in bytes.
	maxShownLine = 1000
	// maxLine is the maximum length of a parsed line. It exceeds maxShownLine, because
	// a parser may read JSON that contains a line of the program.
	maxLine = 1 << 20
	// progressSpacing is the minimum time between two progress reports.
	progressSpacing = 200 * time.Millisecond
)

// output collects the output of a command, from both streams concurrently.
type output struct {
	mu       sync.Mutex
	reading  testReader
	hidden   *redact.Redactor
	call     engines.Call
	tail     tail
	lines    int
	failing  []string
	longest  int // of the lines that were cut, in bytes
	reported time.Time
	streams  []*stream
}

func newOutput(reading testReader, hidden *redact.Redactor, call engines.Call) *output {
	return &output{reading: reading, hidden: hidden, call: call}
}

// stream returns a writer for one of the command's streams; only standard output is
// parsed.
func (o *output) stream(parsed bool) *stream {
	made := &stream{output: o, parsed: parsed}
	o.streams = append(o.streams, made)
	return made
}

// close takes last lines without a line break.
func (o *output) close() {
	for _, each := range o.streams {
		each.end()
	}
}

// conclude writes the tests and the outcome into a report; see reading for the
// arguments.
func (o *output) conclude(report *Report, dir *os.Root, pattern string, started time.Time) {
	found, note := o.reading.conclude(dir, pattern, started)
	if found.none() {
		found, note = nil, cmp.Or(note, noTest)
	}
	if found.allSkipped() {
		note = cmp.Or(note, noneRan)
	}
	found.report(report, o.hidden)
	_, unparsed := o.reading.(noReading)
	report.Outcome = outcomeOf(report, found, !unparsed)
	if report.Outcome != Passed && (found == nil || found.failed == 0) {
		report.FailingLines = o.failing
	}
	if o.longest > 0 {
		cut := fmt.Sprintf("a line of %d bytes was cut at %d", o.longest, maxLine)
		note, report.Truncated = strings.TrimPrefix(note+"; "+cut, "; "), true
	}
	report.Note = note
}

// failingLine matches lines that seem to say what failed, and not how many did.
var (
	failingLine = pattern.Lazy(`(?i)(?:^|[^\pL])(?:fail(?:ed|ure|ures|ing|s)?|errors?|\w+(?:Error|Exception)|fatal|panic|not ok|traceback|assert(?:ion)?)(?:[^\pL]|$)|: (?:command )?not found|[✗✖✕✘×❌⨯]|` +
		`\*\*\*|panicked|core dumped|\[E\]|^\s*(?:\d+\)|●) |\.\w+:\d+(?::\d+:|\s+#|\s\s)`)
	noFailure = pattern.Lazy(`(?i)\b(?:0|no|without) (?:\w+ )?(?:fail|error)|(?:fail(?:ed|ures|s)?|errors?)[\s:=]{1,3}0(?:[^.\w]|$)`)
)

// maxFailing is the maximum number of such lines in a report.
const maxFailing = 20

// take passes a line to the parser, the tail and the caller. size is that of the whole line.
func (o *output) take(line []byte, size int, parsed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines++
	if size > len(line) {
		o.longest = max(o.longest, size)
	}
	text := strings.TrimPrefix(escape().ReplaceAllString(string(line), ""), "\ufeff")
	if parsed {
		var visible bool
		if text, visible = o.reading.line(text); !visible {
			return
		}
	}
	text = o.hidden.Text(plain(text))
	o.tail.add(text)
	if line := shorten(text); len(o.failing) < maxFailing && failingLine().MatchString(line) && !noFailure().MatchString(line) {
		o.failing = append(o.failing, line)
	}
	if now := time.Now(); o.call.Progress != nil && now.Sub(o.reported) >= progressSpacing {
		o.reported = now
		o.call.Progress(float64(o.lines), 0, shorten(text))
	}
}

// stream splits its input into lines.
type stream struct {
	output *output
	parsed bool
	line   []byte
	size   int // of the line, with what was dropped
}

// Write never fails: the excess of a long line is dropped.
func (s *stream) Write(data []byte) (int, error) {
	size := len(data)
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			s.append(data)
			return size, nil
		}
		s.append(data[:end])
		s.flush()
		data = data[end+1:]
	}
}

func (s *stream) append(data []byte) {
	s.size += len(data)
	s.line = append(s.line, data[:min(len(data), maxLine-len(s.line))]...)
}

func (s *stream) flush() {
	s.output.take(s.line, s.size, s.parsed)
	s.line, s.size = s.line[:0], 0
}

func (s *stream) end() {
	if len(s.line) > 0 {
		s.flush()
	}
}

// escape matches terminal control sequences (ECMA-48).
var escape = pattern.Lazy("\x1b(\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// plain returns a line as valid UTF-8 without escape sequences. Of a line overwritten
// by carriage returns, as by a progress bar, it keeps the last state.
func plain(line string) string {
	line = strings.TrimRight(line, "\r")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	return strings.ToValidUTF8(escape().ReplaceAllString(line, ""), "\uFFFD")
}

// shorten truncates a long line.
func shorten(line string) string {
	if len(line) <= maxShownLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxShownLine], "") + " […]"
}

// tail keeps the last lines of the output.
type tail struct {
	lines []string
	bytes int
	cut   bool
}

func (t *tail) add(line string) {
	line = shorten(line)
	t.lines = append(t.lines, line)
	t.bytes += len(line) + 1
	for len(t.lines) > maxTailLines || t.bytes > maxTailBytes {
		t.bytes -= len(t.lines[0]) + 1
		t.lines = t.lines[1:]
		t.cut = true
	}
}

// text returns the kept lines, and whether others were dropped.
func (t *tail) text() (string, bool) {
	if len(t.lines) == 0 {
		return "", t.cut
	}
	return strings.Join(t.lines, "\n") + "\n", t.cut
}
