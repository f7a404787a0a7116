package workflows

import (
	"encoding/xml"
	"io"

	"savant/think/cases"
)

// The elements of a JUnit report.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes the results as a JUnit report: a suite for each file.
func (t tested) writeJUnit(out io.Writer) error {
	var report junitSuites
	for _, file := range t.Files {
		suite := junitSuite{Name: file.File, Tests: len(file.Cases) + len(file.Errors), Errors: len(file.Errors)}
		for _, each := range file.Errors {
			suite.Cases = append(suite.Cases, junitCase{Class: file.Workflow, Name: "the file is valid", File: file.File, Line: each.Line, Error: &junitMessage{Message: each.Message}})
		}
		for _, each := range file.Cases {
			made := junitCase{Class: file.Workflow, Name: each.Name, File: file.File, Line: each.Line}
			if each.Status == cases.Failed {
				suite.Failures++
				made.Failure = &junitMessage{Message: each.Differences[0].String()}
				for _, d := range each.Differences {
					made.Failure.Text += d.String() + "\n"
				}
			}
			suite.Cases = append(suite.Cases, made)
		}
		report.Suites = append(report.Suites, suite)
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}
