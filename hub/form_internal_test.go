package hub

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/think/form"
)

// An option that the page did not offer is no answer, in a list neither.
func TestOptionsThatWereNotOffered(t *testing.T) {
	asked := form.New([]byte(`{"type":"object","properties":{"tags":{"type":"array","items":{"enum":["red","blue"]}}}}`))
	for sent, valid := range map[string]bool{"0": true, "1": true, "2": false, "-1": false, "red": false} {
		in := inputsOf(asked)
		_, ok := in.read(url.Values{"field.0": {sent}})
		require.Equal(t, valid, ok, sent)
	}
}

// A tool that names no arguments is called without any, by a form that is left empty.
func TestAToolWithoutArguments(t *testing.T) {
	for _, schema := range []string{`{"type":"object"}`, `{"type":"object","properties":{}}`, `{"type":"object","properties":{},"additionalProperties":false}`} {
		in := argumentsOf(engines.Tool{Input: []byte(schema)})
		filled, ok := in.read(url.Values{"field.0": {""}})
		require.True(t, ok, schema)
		_, given := in.form.Answer(filled)
		require.False(t, given && len(filled) > 0, schema)
	}
}
