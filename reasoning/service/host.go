package service

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"savant/fault"
)

// ForHosts serves requests that are sent to these hosts, to this machine by its usual
// names, or to an address, and refuses others with TOOL_DENIED and 403. A web page
// whose name leads to this machine could otherwise use what is served here: its
// requests name the page's host.
func ForHosts(next http.Handler, hosts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !servedAs(r.Host, hosts) {
			h := handler{options: HandlerOptions{}.filled()}
			h.refuse(w, r, fault.New(fault.ToolDenied, "this service is not known as %q: use its address, or localhost", fault.Cut(r.Host, 100)), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// servedAs reports whether a Host header names an address, this machine, or one of
// the hosts.
func servedAs(header string, hosts []string) bool {
	name := header
	if host, _, err := net.SplitHostPort(header); err == nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	for _, each := range hosts {
		if each != "" && strings.EqualFold(name, each) {
			return true
		}
	}
	return false
}
