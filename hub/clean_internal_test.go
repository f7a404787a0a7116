package hub

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/redact"
)

const token = "sk-proj-" + "abcdefghijklmnop1234"

type inner struct{ Text string }

// everyField has a text in each place that a view may have one.
type everyField struct {
	inner   // as rows are
	Text    string
	Named   named
	Source  source
	List    []string
	Array   [1]string
	Map     map[string][]string
	Values  url.Values
	Any     any
	Pointer *inner
	Rows    []inner
	None    *inner
	Nothing any
	Empty   map[string]string
}

type named string

// TestEveryTextOfAViewIsCleaned checks that secrets are removed from every field of a
// view, and that the original value does not change.
func TestEveryTextOfAViewIsCleaned(t *testing.T) {
	bad := "a\u202e " + token
	list := []string{bad}
	view := everyField{inner: inner{bad}, Text: bad, Named: named(bad), Source: source(bad), List: list, Array: [1]string{bad}, Map: map[string][]string{bad: {bad}},
		Values: url.Values{bad: {bad}}, Any: inner{bad}, Pointer: &inner{bad}, Rows: []inner{{bad}}}
	cleaned := clean(redact.Shapes(), page{View: view})
	text, err := json.Marshal(cleaned)
	require.NoError(t, err)
	require.NotContains(t, string(text), token)
	require.NotContains(t, string(text), "\u202e")
	const good = `a\u{202e} [redacted]`
	require.Equal(t, everyField{inner: inner{good}, Text: good, Named: good, Source: good, List: []string{good}, Array: [1]string{good}, Map: map[string][]string{good: {good}},
		Values: url.Values{good: {good}}, Any: inner{good}, Pointer: &inner{good}, Rows: []inner{{good}}}, cleaned.View)
	require.Equal(t, []string{bad}, list)
	require.Equal(t, bad, view.Pointer.Text)
}

// TestAViewHasNoFieldThatStaysAsItIs checks that a field that cannot be cleaned is an
// error, not skipped.
func TestAViewHasNoFieldThatStaysAsItIs(t *testing.T) {
	require.Panics(t, func() { clean(redact.Shapes(), page{View: struct{ text string }{token}}) })
}
