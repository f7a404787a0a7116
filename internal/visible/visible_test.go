package visible_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/internal/visible"
)

func TestCharactersAreWrittenOut(t *testing.T) {
	for given, want := range map[string]string{
		"plain, ünïcode 漢\u3000字 👍🏽 ❤️": "plain, ünïcode 漢\u3000字 👍🏽 ❤️",
		"\x1b[31mred\x07":                  `\u{1b}[31mred\u{7}`,
		"a\u202eb\u009bc\x7f\u2066":        `a\u{202e}b\u{9b}c\u{7f}\u{2066}`,
		"over\rwritten":                    `over\u{d}written`,
		"zero\u200b\u200d\ufeff\u2060":     `zero\u{200b}\u{200d}\u{feff}\u{2060}`,
		"tag \U000e0041\U000e007f":         `tag \u{e0041}\u{e007f}`,
		"selectors \U000e0100\ufe00":       `selectors \u{e0100}\u{fe00}`,
		"fillers \u3164\u115f\uffa0\u034f": `fillers \u{3164}\u{115f}\u{ffa0}\u{34f}`,
		"blanks \u00a0\u2003\u2800":        `blanks \u{a0}\u{2003}\u{2800}`,
		"separators \u2028\u2029\u0085":    `separators \u{2028}\u{2029}\u{85}`,
		"private \ue000, bad \xff":         "private \\u{e000}, bad \ufffd",
	} {
		require.Equal(t, want, visible.Characters(given))
		require.Equal(t, want, visible.Line(given))
		require.Equal(t, want, visible.Text(given))
	}
}

// TestJSONIsTheSameValue: the text of JSON controls no terminal, and means what it meant.
func TestJSONIsTheSameValue(t *testing.T) {
	for c := rune(0x7f); c < 0xa0; c++ {
		text := visible.JSON([]byte("{\"a\": \"x" + string(c) + "31m\"}"))
		require.Equal(t, fmt.Sprintf(`{"a": "x\u%04x31m"}`, c), string(text))
	}
	const whole = "{\n\t\"a\": \"漢 ❤️ \U000e0041\u202e\u2028\"}\n"
	text := visible.JSON([]byte(whole))
	require.Equal(t, "{\n\t\"a\": \"漢 ❤️ \\udb40\\udc41\\u202e\\u2028\"}\n", string(text))
	require.JSONEq(t, whole, string(text))
}

func TestLines(t *testing.T) {
	attack := "approve\n\n\n \t\n\nsavant: all is well\r\n\tend\n\n"
	require.Equal(t, `approve\n\nsavant: all is well\n    end`, visible.Line(attack))
	require.Equal(t, "approve\n  \n  savant: all is well\n      end", visible.Text(attack))
	require.Equal(t, "  | approve\n  | \n  | savant: all is well\n  |     end", visible.Block(attack))
	require.Equal(t, attack[:9], visible.Characters(attack)[:9])
	require.Equal(t, "a(500 spaces)b c", visible.Line("a"+strings.Repeat(" ", 500)+"b c"))
	require.Empty(t, visible.Line("\n\n"))
	require.Empty(t, visible.Text(""))
}

// Whatever the text, a line of it is indented and shows all that it holds.
func TestNothingHides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a \n\t\r\x1b\u202e\u200b\U000e0041s"))).Draw(t, "text")
		for i, line := range strings.Split(visible.Text(text), "\n") {
			require.True(t, i == 0 || strings.HasPrefix(line, "  "))
		}
		for _, line := range strings.Split(visible.Block(text), "\n") {
			require.True(t, strings.HasPrefix(line, "  | "))
		}
		for _, shown := range []string{visible.Line(text), strings.ReplaceAll(visible.Text(text), "\n", "")} {
			require.NotContains(t, shown, "\n")
			for _, r := range shown {
				require.True(t, unicode.IsPrint(r), "%q", r)
			}
			require.Equal(t, visible.Line(shown), shown, "a second time changes nothing")
		}
	})
}
