package terminal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
)

func TestVisible(t *testing.T) {
	for given, want := range map[string]string{
		"plain, ünïcode 漢字\n\tand lines": "plain, ünïcode 漢字\n      and lines",
		"a\n\n\n\nsavant: done":          "a\n  \n  savant: done",
		"\x1b[31mred":                    `\u{1b}[31mred`,
		"a\u202eb\u009bc\x7f":            `a\u{202e}b\u{9b}c\u{7f}`,
		"over\rwritten":                  `over\u{d}written`,
		"tag \U000e0041":                 `tag \u{e0041}`,
	} {
		require.Equal(t, want, Visible(given))
	}
}

func TestWhatOthersWriteIsNotOurLine(t *testing.T) {
	require.Equal(t, "a\n  savant: done\n\n\n\tb\\u{1b}", Content("a\nsavant: done\n\n\n\tb\x1b"))
	require.Equal(t, "go on?", QuoteLines("go on?\n"))
	require.Equal(t, "  | go on?\n  | digest: 1", QuoteLines("go on?\ndigest: 1"))
	var out strings.Builder
	require.NoError(t, Table(&out, nil, []string{"a\nsavant: b\tc\u202e"}, func(text string) []string { return []string{text, "d"} }))
	require.Equal(t, "a\\nsavant: b    c\\u{202e}  d\n", out.String())
}

// What is escaped for the terminal is still the same JSON.
func TestIndentedIsTheSameJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "value")
		text, err := Indented(value)
		require.NoError(t, err)
		require.Equal(t, text, Content(text))
		var back map[string][]string
		require.NoError(t, json.Unmarshal([]byte(text), &back))
		require.Equal(t, len(value), len(back))
		for key := range value {
			require.Equal(t, value[key], back[key])
		}
	})
}

func TestDiagnosticLine(t *testing.T) {
	for want, d := range map[string]fault.Diagnostic{
		"workflows/a.yaml:3:5: error: no such step [UNRESOLVED_VAR]": {File: "workflows/a.yaml", Line: 3, Column: 5, Message: "no such step", Code: fault.UnresolvedVar},
		"a.yaml: warning: old [INTERNAL]":                            {File: "a.yaml", Severity: "warning", Message: "old"},
		"/text: error: too long (expected 3, got 4) [INTERNAL]":      {Pointer: "/text", Message: "too long", Expected: "3", Actual: "4"},
		"params.pr: error: expected integer [INTERNAL]":              {Path: "params.pr", Message: "expected integer", Expected: "integer", Actual: "text"},
		"error: bad [INTERNAL]":                                      {Message: "bad"},
	} {
		require.Equal(t, want, DiagnosticLine(d, fault.Internal))
	}
}
