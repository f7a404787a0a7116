// Package httpclient is the redirect policy of Savant's HTTP clients.
package httpclient

import (
	"errors"
	"fmt"
	"net/http"
)

// maxRedirects bounds the redirects of one request.
const maxRedirects = 3

// ErrRedirected is the error of a refused redirect.
var ErrRedirected = errors.New("its redirect was not followed")

// SameOrigin is a CheckRedirect for requests that carry credentials or a body. It
// follows up to three redirects to the same scheme, host and port that keep the
// method, and so the body; any other is ErrRedirected with the reason.
func SameOrigin(next *http.Request, before []*http.Request) error {
	first := before[0]
	switch {
	case next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host:
		return fmt.Errorf("%w: it leads to another host, %s", ErrRedirected, next.URL.Host)
	case next.Method != first.Method:
		return fmt.Errorf("%w: it would change the request; only 307 and 308 keep it", ErrRedirected)
	case len(before) > maxRedirects:
		return fmt.Errorf("%w: there were more than %d redirects", ErrRedirected, maxRedirects)
	}
	return nil
}
