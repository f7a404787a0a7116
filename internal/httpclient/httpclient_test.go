package httpclient_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/httpclient"
)

func TestSameOrigin(t *testing.T) {
	first := httptest.NewRequest(http.MethodPost, "https://api.example/a", nil)
	for target, followed := range map[string]bool{
		"POST https://api.example/b":     true,
		"GET https://api.example/b":      false,
		"POST http://api.example/b":      false,
		"POST https://api.example:444/b": false,
		"POST https://other.example/a":   false,
	} {
		method, address, _ := strings.Cut(target, " ")
		err := httpclient.SameOrigin(httptest.NewRequest(method, address, nil), []*http.Request{first})
		if followed {
			require.NoError(t, err, target)
		} else {
			require.ErrorIs(t, err, httpclient.ErrRedirected, target)
		}
	}
	next := httptest.NewRequest(http.MethodPost, "https://api.example/b", nil)
	require.NoError(t, httpclient.SameOrigin(next, []*http.Request{first, first, first}))
	require.ErrorIs(t, httpclient.SameOrigin(next, []*http.Request{first, first, first, first}), httpclient.ErrRedirected)
}
