package service

import (
	"net/http"
	"strings"

	"savant/internal/webguard"
)

// ForHosts serves requests that are sent to these hosts, to this machine by its usual
// names, or to an address, and refuses others with TOOL_DENIED and 403. A web page
// whose name leads to this machine could otherwise use what is served here: its
// requests name the page's host.
func ForHosts(next http.Handler, hosts ...string) http.Handler {
	guard := webguard.Guard{Addresses: true}
	for _, each := range hosts {
		if each != "" {
			guard.Hosts = append(guard.Hosts, strings.ToLower(each))
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := guard.CheckHost(r); err != nil {
			h := handler{options: HandlerOptions{}.filled()}
			h.refuse(w, r, err, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
