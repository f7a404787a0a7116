package streamable

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/access"
	"savant/internal/jsonrpc"
)

// refuse answers a request that is not started, with a status and a JSON-RPC error. id
// is the message's id, nil if unknown.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, id json.RawMessage, err error) {
	coded := fault.From(err)
	attributes := []any{"status", status, "code", string(coded.Code), "method", r.Method, "path", fault.Cut(r.URL.Path, 100)}
	if coded.Code == fault.Internal {
		s.options.Logger.ErrorContext(r.Context(), "a request failed", append(attributes, "cause", errors.Join(coded.Unwrap()...).Error())...)
	} else {
		s.options.Logger.InfoContext(r.Context(), "a request was refused", append(attributes, "details", coded.Details)...)
	}
	if id == nil {
		id = jsonrpc.NoID
	}
	writeReply(w, status, jsonrpc.Fail(id, jsonrpc.NotBegun, coded.Error(), coded))
}

// writeReply writes one reply as JSON.
func writeReply(w http.ResponseWriter, status int, reply *jsonrpc.Reply) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = jsonrpc.NewWriter(w, nil).Write(reply) // the client may be gone
}

// challenge refuses a request without a valid token (RFC 6750).
func (s *Server) challenge(w http.ResponseWriter, r *http.Request, err error) {
	parameters := []string{}
	if errors.Is(err, access.ErrWrongToken) {
		parameters = append(parameters, `error="invalid_token"`)
	}
	w.Header().Set("WWW-Authenticate", s.bearer(append(parameters, `scope="`+string(access.Read)+`"`)))
	s.refuse(w, r, http.StatusUnauthorized, nil, err)
}

// forbid refuses a request that the caller's token does not allow, and names the
// missing scope.
func (s *Server) forbid(w http.ResponseWriter, r *http.Request, id json.RawMessage, caller access.Caller, needed ...access.Scope) {
	scopes := strings.Trim(fmt.Sprint(needed), "[]")
	w.Header().Set("WWW-Authenticate", s.bearer([]string{`error="insufficient_scope"`, `scope="` + scopes + `"`}))
	s.refuse(w, r, http.StatusForbidden, id, fault.New(fault.ToolDenied, "this needs the scope %s, and the token %q does not have it", scopes, caller.Name).Attach("scope", scopes))
}

func (s *Server) bearer(parameters []string) string {
	if s.options.Issuer != "" {
		parameters = append(parameters, `resource_metadata="`+s.metadataAddress()+`"`)
	}
	return "Bearer " + strings.Join(parameters, ", ")
}

// overQuota refuses a request of a caller who exceeds a limit.
func (s *Server) overQuota(w http.ResponseWriter, r *http.Request, id json.RawMessage, caller access.Caller, err error) {
	var over *overError
	if errors.As(err, &over) {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(over.wait.Seconds()+0.999))))
	}
	s.refuse(w, r, http.StatusTooManyRequests, id, fault.New(fault.LimitExceeded, "%q: %w", caller.Name, err))
}
