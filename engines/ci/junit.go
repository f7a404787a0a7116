package ci

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"savant/internal/pattern"
	"savant/internal/regular"
)

// Limits of the reports.
const (
	maxReports     = 2000
	maxReportBytes = 64 << 20
)

// junitReading reads reports in the XML format of JUnit's Ant task, which most test
// runners can write.
type junitReading struct {
	tests  *tests
	suites []string // the names of the enclosing suites
}

func (j *junitReading) line(text string) (string, bool) { return text, true }

// conclude reads the reports written by this run and ignores older files.
func (j *junitReading) conclude(dir *os.Root, report string, started time.Time) (*tests, string) {
	names, err := reportsBelow(dir, report)
	if err != nil {
		return nil, "the report cannot be found: its path is not a pattern"
	}
	read := 0
	for _, name := range names[:min(len(names), maxReports)] {
		info, err := dir.Stat(name)
		if err != nil || info.ModTime().Before(started.Truncate(time.Second)) {
			continue // some file systems store whole seconds
		}
		if err := j.file(dir, name); err != nil {
			return nil, fmt.Sprintf("%s cannot be read: %v", name, err)
		}
		read++
	}
	switch {
	case read == 0:
		return nil, "the command did not write " + report
	case len(names) > maxReports:
		return j.tests, fmt.Sprintf("only the first %d of %d reports were read", maxReports, len(names))
	}
	return j.tests, ""
}

// maxFolders is how many folders "**/" stands for at most, so that no tree is walked whole.
const maxFolders = 3

// reportsBelow returns the files that a pattern matches.
func reportsBelow(dir *os.Root, report string) (names []string, err error) {
	for depth := 0; depth <= maxFolders && err == nil; depth++ {
		var found []string
		found, err = regular.Glob(dir.FS(), strings.ReplaceAll(report, "**/", strings.Repeat("*/", depth)))
		names = append(names, found...)
		if !strings.Contains(report, "**/") {
			break
		}
	}
	return names, err
}

// file reads one report.
func (j *junitReading) file(dir *os.Root, name string) error {
	file, err := regular.Open(dir, name, os.O_RDONLY, 0)
	if err != nil {
		return errors.New("it cannot be opened inside the command's folder")
	}
	defer file.Close()
	return j.read(io.LimitReader(file, maxReportBytes))
}

// testCase is one test of a report.
type testCase struct {
	Class   string    `xml:"classname,attr"`
	Name    string    `xml:"name,attr"`
	Failure *struct{} `xml:"failure"`
	Error   *struct{} `xml:"error"`
	Skipped *struct{} `xml:"skipped"`
}

// read counts the test cases of a report, at any depth.
func (j *junitReading) read(source io.Reader) error {
	j.suites = nil
	decoder := xml.NewDecoder(unicodeOf(source))
	decoder.Strict = false // an & may stand for itself
	decoder.CharsetReader = func(_ string, read io.Reader) (io.Reader, error) { return read, nil }
	seen, failed := false, ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && seen {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not XML: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			j.leave(token)
			continue
		}
		if !seen && !strings.HasPrefix(start.Name.Local, "testsuite") {
			return fmt.Errorf("expected testsuites or testsuite, got %s", start.Name.Local)
		}
		seen = true
		if start.Name.Local != "testcase" {
			j.enter(start)
			continue
		}
		var test testCase
		if err := decoder.DecodeElement(&test, &start); err != nil {
			return fmt.Errorf("not XML: %w", err)
		}
		path, end := j.path(test), test.ending()
		if end == failing && path != "" && path == failed { // with its failure and its error, as jest-junit and pytest write it
			continue
		}
		if failed = ""; end == failing {
			failed = path
		}
		j.tests.count(path, end)
	}
}

// otherCharset matches the declaration of an encoding that is not one of Unicode.
var otherCharset = pattern.Lazy(`(?i)^<\?xml[^>]*\sencoding\s*=\s*["'](?:[^u"']|u[^tc"'])`)

// unicodeOf returns a report in UTF-8, without characters that XML does not have. Any other
// encoding is read like Windows's: names in another script are garbled, and the tests are counted.
func unicodeOf(source io.Reader) io.Reader {
	in := bufio.NewReader(source)
	decoder := unicode.BOMOverride(unicode.UTF8.NewDecoder())
	switch head, _ := in.Peek(200); {
	case len(head) > 1 && (head[0] == 0 || head[1] == 0): // UTF-16 without its mark
		decoder = unicode.UTF16(unicode.Endianness(head[1] == 0), unicode.IgnoreBOM).NewDecoder()
	case otherCharset().Match(head):
		decoder = charmap.Windows1252.NewDecoder()
	}
	return transform.NewReader(in, transform.Chain(decoder, runes.Map(func(char rune) rune {
		if char < ' ' && char != '\t' && char != '\n' && char != '\r' || char == '\uFFFE' || char == '\uFFFF' {
			return '\uFFFD'
		}
		return char
	})))
}

// enter and leave track the names of the enclosing suites.
func (j *junitReading) enter(start xml.StartElement) {
	if start.Name.Local != "testsuite" {
		return
	}
	name := ""
	for _, each := range start.Attr {
		if each.Name.Local == "name" {
			name = each.Value
		}
	}
	j.suites = append(j.suites, name)
}

func (j *junitReading) leave(token xml.Token) {
	if end, ok := token.(xml.EndElement); ok && end.Name.Local == "testsuite" {
		j.suites = j.suites[:len(j.suites)-1] // the decoder checks that tags match
	}
}

// path names a test by its class, or else by its suite.
func (j *junitReading) path(t testCase) string {
	if t.Class != "" {
		return t.Class + "." + t.Name
	}
	if last := len(j.suites) - 1; last >= 0 && j.suites[last] != "" {
		return j.suites[last] + " > " + t.Name
	}
	return t.Name
}

func (t testCase) ending() ending {
	switch {
	case t.Failure != nil || t.Error != nil:
		return failing
	case t.Skipped != nil:
		return skipping
	}
	return passing
}
