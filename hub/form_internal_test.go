package hub

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

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
