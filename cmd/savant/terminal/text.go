// Package terminal writes for people at a terminal, and reads what they answer.
package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"savant/fault"
	"savant/internal/visible"
)

// Visible returns text of others for a place within or after our own words: what a
// model or a file says must not steer the terminal, hide a part of itself or pass
// for a line of ours. Lines that follow the first are indented.
func Visible(text string) string { return visible.Text(text) }

// Content returns a text that is the output itself, such as an answer, with its lines
// as they are. Characters that cannot be seen are written out, and a line that begins
// as ours do is indented.
func Content(text string) string {
	lines := strings.Split(visible.Characters(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "savant: ") {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// Quoted returns a text of one line as it is. The lines of a longer one are marked,
// so that none can pass for a line of ours.
func Quoted(text string) string {
	if strings.ContainsRune(strings.TrimSpace(text), '\n') {
		return visible.Block(text)
	}
	return visible.Line(text)
}

// Indented returns a value as indented JSON. Characters that do not print are
// escaped, as Visible does: it is the same JSON, and safe on a terminal.
func Indented(value any) (string, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return "", fault.New(fault.Internal, "encoding a result: %w", err)
	}
	var out strings.Builder
	for _, r := range encoded.String() {
		if visible.Characters(string(r)) == string(r) { // a tab or a new line in a string is escaped already
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&out, "\\u%04x", unit)
		}
	}
	return out.String(), nil
}

// DiagnosticLine is one diagnostic as compilers and editors write it:
// file:line:col: error: message [CODE]. code is that of the whole error.
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

// Diagnostics writes what an error says beside its details: a line each.
func Diagnostics(out io.Writer, said *fault.Error) {
	for _, each := range said.Diagnostics {
		if len(said.Diagnostics) > 1 && each.Line > 0 || !repeats(each, said.Details) {
			fmt.Fprintln(out, "  "+DiagnosticLine(each, said.Code))
		}
	}
}

// repeats says whether the details of an error say all that a diagnostic does.
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

// unfitting says what was expected and what came, where the message does not.
func unfitting(d fault.Diagnostic) string {
	if d.Expected == "" || strings.Contains(d.Message, d.Expected) {
		return ""
	}
	return fmt.Sprintf(" (expected %s, got %s)", d.Expected, d.Actual)
}

// Count is a number of things: "1 run", "2 runs".
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
