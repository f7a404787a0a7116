// Package terminal formats output for people at a terminal, and reads their answers.
package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"savant/fault"
	"savant/internal/visible"
)

// Visible returns untrusted text for use within Savant's own output: text of a model or
// a file must not control the terminal, hide a part of itself or imitate a line of
// Savant. Its further lines are indented.
func Visible(text string) string { return visible.Text(text) }

// Content returns a text that is itself the output, such as an answer, with its lines
// unchanged. Invisible characters are escaped, and a line that begins like one of
// Savant's is indented.
func Content(text string) string {
	lines := strings.Split(visible.Characters(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "savant: ") {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// QuoteLines returns a text of one line unchanged, and marks the lines of a longer one, so
// that none can imitate a line of Savant.
func QuoteLines(text string) string {
	if strings.ContainsRune(strings.TrimSpace(text), '\n') {
		return visible.Block(text)
	}
	return visible.Line(text)
}

// Indented returns a value as indented JSON. Unprintable characters are escaped in
// JSON, so the value is the same and safe on a terminal.
func Indented(value any) (string, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return "", fault.New(fault.Internal, "encoding a result: %w", err)
	}
	return string(visible.JSON(encoded.Bytes())), nil
}

// DiagnosticLine formats a diagnostic in the way of compilers: file:line:col: error:
// message [CODE]. code is the code of the whole error.
func DiagnosticLine(d fault.Diagnostic, code fault.Code) string {
	if d.Code != "" {
		code = d.Code
	}
	severity := "error"
	if d.Severity != "" {
		severity = d.Severity
	}
	return Visible(place(d) + severity + ": " + d.Message + unfitting(d) + " [" + string(code) + "]")
}

// Diagnostics writes the diagnostics of an error, one per line, unless its details say
// the same.
func Diagnostics(out io.Writer, failure *fault.Error) {
	for _, each := range failure.Diagnostics {
		if len(failure.Diagnostics) > 1 && each.Line > 0 || !repeats(each, failure.Details) {
			fmt.Fprintln(out, "  "+DiagnosticLine(each, failure.Code))
		}
	}
}

// repeats reports whether an error's details say all that a diagnostic does.
func repeats(d fault.Diagnostic, details string) bool {
	if d.Line > 0 && !strings.Contains(details, fmt.Sprintf("%d:%d", d.Line, d.Column)) {
		return false
	}
	return d.Message != "" && strings.Contains(details, d.Message) || d.Expected != "" && strings.Contains(details, d.Expected) && strings.Contains(details, d.Actual)
}

func place(d fault.Diagnostic) string {
	where := d.File
	if where == "" {
		if where = d.Path; where == "" {
			where = d.Pointer
		}
	}
	if where == "" {
		return ""
	}
	if d.Line > 0 {
		where += fmt.Sprintf(":%d:%d", d.Line, d.Column)
	}
	return where + ": "
}

// unfitting returns the expected and the actual value, if the message lacks them.
func unfitting(d fault.Diagnostic) string {
	if d.Expected == "" || strings.Contains(d.Message, d.Expected) {
		return ""
	}
	return " (" + strings.TrimSuffix("expected "+d.Expected+", got "+d.Actual, ", got ") + ")"
}

// Count formats a number of things: "1 run", "2 runs".
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
