package service

import (
	"net/http"
	"strings"

	"savant/internal/webguard"
)

// ForHosts guards against DNS rebinding. It serves requests whose Host is one of hosts,
// a usual name of this machine or an IP address, and refuses others with TOOL_DENIED
// and 403.
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
