package terminal

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"savant/fault"
	"savant/internal/sarif"
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

// SARIF writes diagnostics as a SARIF 2.1.0 log for code scanning.
func SARIF(out io.Writer, version string, found []fault.Diagnostic) error {
	run := sarif.Run{ColumnKind: "unicodeCodePoints", Results: []sarif.Result{},
		Tool: sarif.Tool{Driver: sarif.Driver{Name: "savant", Version: version, Rules: []sarif.Rule{}}}}
	for _, d := range found {
		run.Results = append(run.Results, sarifOf(d, run.Rule(sarif.Rule{ID: string(d.Code)})))
	}
	text, err := Indented(sarif.NewLog(run))
	if err == nil {
		_, err = io.WriteString(out, text)
	}
	return err
}

func sarifOf(d fault.Diagnostic, rule int) sarif.Result {
	result := sarif.Result{RuleID: string(d.Code), RuleIndex: rule, Level: cmp.Or(d.Severity, "error"), Message: sarif.Message{Text: Visible(d.Message + unfitting(d))}}
	if d.File == "" {
		return result
	}
	at := sarif.Physical{Artifact: sarif.Artifact{URI: address(d.File)}}
	if d.Line > 0 {
		at.Region = &sarif.Region{StartLine: d.Line, StartColumn: max(1, d.Column)}
		if line, _, ok := strings.Cut(d.Source, "\n"); ok {
			at.Region.Snippet = &sarif.Message{Text: line}
		}
	}
	result.Locations = []sarif.Location{{Physical: at}}
	return result
}

// address returns the URI of a file.
func address(file string) string {
	at := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		at.Scheme = "file"
	}
	return at.String()
}
