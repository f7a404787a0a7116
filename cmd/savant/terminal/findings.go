package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
)

// SourceLine returns the source line of a diagnostic with a caret below its column, or
// "".
func SourceLine(d fault.Diagnostic) string {
	line, caret, ok := strings.Cut(d.Source, "\n")
	if line = Visible(line); !ok {
		return ""
	}
	number := fmt.Sprint(d.Line)
	return "  " + number + " | " + line + "\n  " + strings.Repeat(" ", len(number)) + " | " + caret
}

// GitHub writes diagnostics as workflow commands of GitHub Actions, which shows them
// beside the lines.
func GitHub(out io.Writer, found []fault.Diagnostic) {
	kinds := map[string]string{"": "error", "warning": "warning", "note": "notice"}
	for _, d := range found {
		var properties []string
		if d.File != "" {
			properties = append(properties, "file="+escapedProperty(filepath.ToSlash(d.File)))
		}
		if d.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d,col=%d", d.Line, d.Column))
		}
		properties = append(properties, "title="+escapedProperty(string(d.Code)))
		fmt.Fprintf(out, "::%s %s::%s\n", kinds[d.Severity], strings.Join(properties, ","), escapedData(Visible(d.Message+unfitting(d))))
	}
}

var dataEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

func escapedData(text string) string { return dataEscapes.Replace(text) }

func escapedProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapedData(Visible(text)))
}

// The parts of a SARIF 2.1.0 log that Savant uses.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine"`
		StartColumn int        `json:"startColumn"`
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
)

// SARIF writes diagnostics as a SARIF 2.1.0 log for code scanning.
func SARIF(out io.Writer, version string, found []fault.Diagnostic) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "savant", Version: version, Rules: []sarifRule{}}
	for _, d := range found {
		rule := slices.IndexFunc(run.Tool.Driver.Rules, func(known sarifRule) bool { return known.ID == string(d.Code) })
		if rule < 0 {
			rule = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{string(d.Code)})
		}
		run.Results = append(run.Results, sarifOf(d, rule))
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func sarifOf(d fault.Diagnostic, rule int) sarifResult {
	level := d.Severity
	if level == "" {
		level = "error"
	}
	result := sarifResult{RuleID: string(d.Code), RuleIndex: rule, Level: level, Message: sarifText{Visible(d.Message + unfitting(d))}}
	if d.File == "" {
		return result
	}
	var at sarifLocation
	path := filepath.ToSlash(d.File)
	at.Physical.Artifact.URI = (&url.URL{Path: path}).String()
	if filepath.IsAbs(d.File) {
		at.Physical.Artifact.URI = (&url.URL{Scheme: "file", Path: path}).String()
	}
	if d.Line > 0 {
		at.Physical.Region = &sarifRegion{StartLine: d.Line, StartColumn: max(1, d.Column)}
		if line, _, ok := strings.Cut(d.Source, "\n"); ok {
			at.Physical.Region.Snippet = &sarifText{line}
		}
	}
	result.Locations = []sarifLocation{at}
	return result
}
