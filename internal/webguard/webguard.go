// Package webguard decides which HTTP requests a server may answer: those that name the
// server, do not come from a page of another site, and carry a token.
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

// Guard knows the names of a server.
type Guard struct {
	// Hosts are the permitted values of Host, in lower case, with the port if the
	// server has a fixed one.
	Hosts []string
	// Addresses also permits addresses and localhost as Host, at any port. A page that
	// used DNS rebinding cannot send these: its requests name the page's host.
	Addresses bool
	// Origins are the origins of pages that may send requests: "https://host:port".
	Origins []string
}

// CheckHost refuses a request for another host with TOOL_DENIED.
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

// nameOf returns a host without its port, in a comparable form.
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

// CheckOrigin refuses a request from a page of another site with TOOL_DENIED. Programs
// send no Origin, and a person may follow a link from anywhere. Another port of the
// same machine is another origin, although browsers send it the same cookies.
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

// isOwn reports whether an origin is the server itself, under the address in the
// request: that address and port belong to one server only.
func (g Guard) isOwn(r *http.Request, from *url.URL) bool {
	return g.Addresses && from.Scheme == "http" && strings.EqualFold(from.Host, r.Host) && isThisMachine(nameOf(strings.ToLower(r.Host)))
}

// IsLoopback reports whether HOST:PORT can be reached from this machine only. A name
// other than localhost cannot be trusted to stay local.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
