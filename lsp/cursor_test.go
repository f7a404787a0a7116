package lsp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhereACursorStands reads places of texts that are half written; | is the cursor.
func TestWhereACursorStands(t *testing.T) {
	for _, c := range []struct {
		text, path string
		key        bool
		before     string
		siblings   string
	}{
		{"na|", "", true, "na", ""},
		{"name: hel|lo", "name", false, "hel", ""},
		{"steps:\n  - id: a\n    call: git.l|", "steps [] call", false, "git.l", "id=a call=git.l"},
		{"steps:\n- id: a\n  ca|", "steps []", true, "ca", "id=a"},
		{"steps:\n  - id: a\n    call: x.y\n    input_template:\n      li|", "steps [] input_template", true, "li", ""},
		{"steps:\n  - id: a\n    input_template:\n      limit: |", "steps [] input_template limit", false, "", "limit="},
		{"steps:\n  - id: a\n    deps: [b, c|", "steps [] deps []", false, "c", ""},
		{"steps:\n  - id: a\n    deps:\n      - b\n      - c|", "steps [] deps []", true, "c", ""},
		{"steps:\n  - {id: a, call: git.|, when: x}", "steps [] call", false, "git.", "id=a call=git. when=x"},
		{"steps:\n  - {id: a, call: git.log, input_template: {li|", "steps [] input_template", true, "li", ""},
		{"steps:\n  - id: a\n\n    |", "steps []", true, "", "id=a"},
		{"steps:\n  - id: a\n    # note\n    when: 'params.|'", "steps [] when", false, "'params.", "id=a when='params.'"},
		{"outputs:\n  a: \"{{ steps.|", "outputs a", false, `"{{ steps.`, ""},
		{"cases:\n  - name: x\n    answers: {st|", "cases [] answers", true, "st", ""},
	} {
		before, after, _ := strings.Cut(c.text, "|")
		text := linesOf(before + after)
		number := strings.Count(before, "\n")
		p := placeAt(text, number, len(before)-strings.LastIndex(before, "\n")-1)
		require.Equal(t, c.path, strings.Join(p.path, " "), c.text)
		require.Equal(t, c.key, p.key, c.text)
		require.Equal(t, c.before, p.before, c.text)
		depth := len(p.path) - 1
		if p.key {
			depth++
		}
		for _, each := range strings.Fields(c.siblings) {
			name, value, _ := strings.Cut(each, "=")
			require.Equal(t, strings.Trim(value, "'"), p.siblings[depth][name], "%s: %v", c.text, p.siblings)
		}
	}
}
