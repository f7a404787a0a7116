package streamable

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/access"
)

// metadataPath is where clients find the accepted authorisation server (RFC 9728).
const metadataPath = "/.well-known/oauth-protected-resource"

// readyPatience bounds how long the store may take to answer. A database says before that
// that it does not.
const readyPatience = 10 * time.Second

// metadataAddress is the public URL of metadataPath.
func (s *Server) metadataAddress() string {
	return strings.TrimSuffix(s.options.Resource, Path) + metadataPath + Path
}

func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	if s.options.Issuer == "" {
		s.refuse(w, r, http.StatusNotFound, nil, fault.New(fault.InvalidParams, "no authorisation server is set: the operator of this server gives out tokens"))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"resource": s.options.Resource, "authorization_servers": []string{s.options.Issuer},
		"scopes_supported": access.Scopes(), "bearer_methods_supported": []string{"header"}, "resource_name": "Savant"})
}

// health answers that the program runs.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready reports whether requests are served: not while the server is ending or its
// store is unavailable. The cause is logged.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "ending"})
		return
	}
	defer s.finish()
	ctx, cancel := context.WithTimeout(r.Context(), readyPatience)
	defer cancel()
	if err := s.options.Ready(ctx); err != nil {
		coded := fault.From(err)
		s.options.Logger.WarnContext(r.Context(), "not ready", "code", string(coded.Code), "cause", err.Error())
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "failed", "error": string(coded.Code)})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}
