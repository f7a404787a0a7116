package ci

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Bounds of the reports that are read.
const (
	maxReports     = 2000
	maxReportBytes = 64 << 20
)

// junitReading reads the XML that a command leaves behind in the form that
// JUnit's Ant task began and most test runners write.
type junitReading struct{ tests *tests }

func (j *junitReading) line(text string) (string, bool) { return text, true }

// conclude reads the reports that this run wrote; older ones are of another.
func (j *junitReading) conclude(dir *os.Root, report string, started time.Time) (*tests, string) {
	names, err := fs.Glob(dir.FS(), report)
	if err != nil {
		return nil, "the report cannot be looked for: not a pattern"
	}
	read := 0
	for _, name := range names[:min(len(names), maxReports)] {
		info, err := dir.Stat(name)
		if err != nil || info.ModTime().Before(started.Truncate(time.Second)) {
			continue // coarse clocks of file systems count whole seconds
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

func (j *junitReading) file(dir *os.Root, name string) error {
	file, err := dir.Open(name)
	if err != nil {
		return errors.New("it cannot be opened below the command's folder")
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

// read counts the test cases of a report, wherever in it they stand.
func (j *junitReading) read(source io.Reader) error {
	decoder := xml.NewDecoder(source)
	seen := false
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
			continue
		}
		if !seen && !strings.HasPrefix(start.Name.Local, "testsuite") {
			return fmt.Errorf("expected testsuites or testsuite, got %s", start.Name.Local)
		}
		seen = true
		if start.Name.Local != "testcase" {
			continue
		}
		var test testCase
		if err := decoder.DecodeElement(&test, &start); err != nil {
			return fmt.Errorf("not XML: %w", err)
		}
		j.tests.count(test.path(), test.outcome())
	}
}

func (t testCase) path() string {
	if t.Class == "" {
		return t.Name
	}
	return t.Class + "." + t.Name
}

func (t testCase) outcome() outcome {
	switch {
	case t.Failure != nil || t.Error != nil:
		return failing
	case t.Skipped != nil:
		return skipping
	}
	return passing
}
