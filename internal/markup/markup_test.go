package markup_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/markup"
)

func TestWhatIsTooMuch(t *testing.T) {
	table := func(columns, rows int) string {
		return strings.Repeat("|a", columns) + "|\n" + strings.Repeat("|-", columns) + "|\n" + strings.Repeat("|a|\n", rows)
	}
	for name, text := range map[string]string{
		"quotations": strings.Repeat("> ", 100), "items": strings.Repeat("- ", 100), "numbers": "text\n\n" + strings.Repeat("1. ", 100), "both": strings.Repeat("+ 1) > ", 40),
		"emphasis": strings.Repeat("*a_", 1500), "links": strings.Repeat("[a](", 3000), "in lines": strings.Repeat("[a](\n", 3000), "a table": table(300, 100),
	} {
		require.False(t, markup.IsBounded(text), name)
	}
	for name, text := range map[string]string{
		"nothing": "", "a rule": strings.Repeat("-", 1000) + "\n" + strings.Repeat("* ", 30), "a table": table(20, 500), "a list": strings.Repeat("- *a* [b](c)\n", 400),
		"paragraphs": strings.Repeat("*a* _b_\n\n", 5000), "numbers": strings.Repeat("12 ", 1000), "one": "1.", "signs": ">", "quotation": strings.Repeat("> > a\n", 500),
	} {
		require.True(t, markup.IsBounded(text), name)
	}
}
