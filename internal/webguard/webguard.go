// Package webguard says which requests a server on HTTP may answer: those that name
// the server, that come from no page of another site, and that bear a token.
package webguard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"savant/fault"
)

// Guard is what a server is known as.
type Guard struct {
	// Hosts are the values that the Host of a request may have, in lower case: with the
	// port where the server has one of its own.
	Hosts []string
	// Addresses lets Host also be an address or localhost, at any port. A page whose name
	// was led to this machine cannot send one: its requests name the page's host.
	Addresses bool
	// Origins are the origins of pages that may send requests, as "https://host:port".
	Origins []string
}

// CheckHost refuses a request that names another host, with TOOL_DENIED.
func (g Guard) CheckHost(r *http.Request) error {
	host := strings.ToLower(r.Host)
	if slices.Contains(g.Hosts, host) || g.Addresses && (isThisMachine(nameOf(host)) || slices.Contains(g.Hosts, nameOf(host))) {
		return nil
	}
	expected := "its address, or localhost"
	if !g.Addresses {
		expected = strings.Join(g.Hosts, " or ")
	}
	return fault.New(fault.ToolDenied, "this server is not known as %q: use %s", fault.Cut(r.Host, 100), expected)
}

// nameOf is a host without its port, in the form that names are compared in.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), ".")
}

func isThisMachine(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// CheckOrigin refuses a request that a page of another site sends, with TOOL_DENIED.
// Programs send no Origin, and a person may follow a link from anywhere. Another port
// of the same machine is another origin, though browsers send it the cookies.
func (g Guard) CheckOrigin(r *http.Request) error {
	denied := fault.New(fault.ToolDenied, "the request comes from another site")
	for _, origin := range r.Header.Values("Origin") {
		from, err := url.Parse(origin)
		if err != nil || !slices.Contains(g.Origins, strings.ToLower(from.Scheme+"://"+from.Host)) && !g.isOwn(r, from) {
			return denied
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" { // a link on another page
		return nil
	}
	if origins := r.Header.Values("Origin"); len(origins) > 0 { // of a page that is named above
		return nil
	}
	return denied
}

// isOwn says whether an origin is the server itself, under the address that the request
// names: whoever serves a page at an address and port has nothing of others there.
func (g Guard) isOwn(r *http.Request, from *url.URL) bool {
	return g.Addresses && from.Scheme == "http" && strings.EqualFold(from.Host, r.Host) && isThisMachine(nameOf(strings.ToLower(r.Host)))
}

// IsLoopback reports whether an address to listen at, HOST:PORT, is of this machine
// alone. A name other than localhost is not: it may come to mean another address.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
