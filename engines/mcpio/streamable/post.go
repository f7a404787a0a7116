package streamable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"savant/engines"
	"savant/engines/mcpio"
	"savant/fault"
	"savant/internal/access"
	"savant/internal/jsonrpc"
)

// post serves a message or a batch.
func (s *Server) post(w http.ResponseWriter, r *http.Request, caller access.Caller, project *Project) {
	stream, ok := acceptable(r)
	if !ok {
		s.refuse(w, r, http.StatusNotAcceptable, nil, fault.New(fault.InvalidParams, "a client must accept application/json and text/event-stream"))
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		s.refuse(w, r, http.StatusUnsupportedMediaType, nil, fault.New(fault.InvalidParams, "the content type must be application/json"))
		return
	}
	data, status, err := s.body(w, r)
	if err != nil {
		s.refuse(w, r, status, nil, err)
		return
	}
	peer, scope, err := peerOf(r.Header)
	if err != nil {
		s.refuse(w, r, http.StatusNotFound, nil, err)
		return
	}
	messages, reply := messagesOf(data, peer.Protocol)
	if reply != nil {
		writeReply(w, http.StatusBadRequest, reply)
		return
	}
	if rest := len(messages) - 1; rest > 0 { // authorized counted one
		release, err := s.quotas.admit(caller, rest)
		if err != nil {
			s.overQuota(w, r, nil, caller, err)
			return
		}
		defer release()
	}
	for _, m := range messages {
		if !s.admit(w, r, caller, project, m) {
			return
		}
	}
	who := engines.Identity{ID: "http " + caller.Name + " " + scope, Name: caller.Name, Lasting: true}
	if scope != "" {
		scope = caller.Name + " " + scope
	}
	exchange := mcpio.Exchange{Data: data, Peer: peer, Scope: scope, Caller: who, Mute: !stream || !caller.May(access.Approve)}
	switch m := messages[0]; {
	case len(messages) == 1 && m.IsResponse():
		s.answerTo(w, r, project, scope, m)
	case len(messages) == 1 && m.IsNotification():
		_, _ = project.Exchanges.Handle(r.Context(), silentExchange(exchange))
		w.WriteHeader(http.StatusAccepted)
	default:
		s.exchange(w, r, project, exchange, stream, !mcpio.HasSessions(mcpio.RevisionOf(r.Header, m)))
	}
}

// acceptable reports whether the client accepts an event stream, and whether it accepts
// any of the response types.
func acceptable(r *http.Request) (stream, ok bool) {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	if accept == "" || strings.Contains(accept, "*/*") {
		return true, true
	}
	stream = strings.Contains(accept, eventStream)
	return stream, stream || strings.Contains(accept, "application/json")
}

// body reads the message, which Handler gives BodyTime.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (data []byte, status int, err error) {
	data, err = io.ReadAll(http.MaxBytesReader(w, r.Body, s.options.MaxBody))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, http.StatusRequestEntityTooLarge, fault.New(fault.LimitExceeded, "a message has at most %d bytes", s.options.MaxBody)
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, http.StatusRequestTimeout, fault.New(fault.LimitExceeded, "the message did not arrive within %s", s.options.BodyTime)
	case err != nil:
		return nil, http.StatusBadRequest, fault.New(fault.InvalidParams, "the message was cut: %w", err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // later reads only detect that the client has left
	return data, 0, nil
}

// messagesOf parses a message or a batch of a revision; refused is the reply if that fails.
func messagesOf(data []byte, revision string) (messages []*jsonrpc.Message, refused *jsonrpc.Reply) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, jsonrpc.ByteOrderMark))
	parts := []json.RawMessage{data}
	if len(data) > 0 && data[0] == '[' {
		if parts, refused = mcpio.SplitBatch(data, revision, maxRunning); refused != nil {
			return nil, refused
		}
	}
	for _, part := range parts {
		m, refused := jsonrpc.Parse(part)
		if refused != nil {
			return nil, refused
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// admit reports whether a message is served: its headers match it and the caller may
// send it. Otherwise it sends the refusal.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, caller access.Caller, project *Project, m *jsonrpc.Message) bool {
	if reply := project.Server.CheckHeaders(r.Header, m); reply != nil {
		writeReply(w, http.StatusBadRequest, reply)
		return false
	}
	needed := needs(project.Server, m)
	for _, scope := range needed {
		if !caller.May(scope) {
			s.forbid(w, r, m.ID, caller, needed...)
			return false
		}
	}
	if m.Method == "tools/call" {
		if err := s.quotas.call(caller); err != nil {
			s.overQuota(w, r, m.ID, caller, err)
			return false
		}
	}
	return true
}

// answerTo passes on the answer of a client's user.
func (s *Server) answerTo(w http.ResponseWriter, r *http.Request, project *Project, scope string, m *jsonrpc.Message) {
	if !project.Exchanges.Deliver(scope, m) {
		s.refuse(w, r, http.StatusBadRequest, m.ID, fault.New(fault.InvalidTransition, "no call of this server waits for the answer any more: make the call again"))
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// silentExchange returns an exchange that sends nothing to the client.
func silentExchange(exchange mcpio.Exchange) mcpio.Exchange {
	exchange.Mute, exchange.Send = true, func(any) error { return nil }
	return exchange
}

// exchange serves requests. From revision 2026-07-28 on, a disconnect cancels the
// request; before, the client must cancel it explicitly.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, project *Project, exchange mcpio.Exchange, stream, modern bool) {
	answer := &answer{writer: w, control: http.NewResponseController(w), stream: stream, modern: modern}
	defer answer.keepAlive(keepAliveInterval)()
	exchange.Send, exchange.Gone = answer.send, r.Context().Done()
	if !stream {
		exchange = silentExchange(exchange)
	}
	exchange.Initialized = func(peer mcpio.Peer) {
		if id, err := newSessionID(peer); err == nil {
			w.Header().Set(mcpio.HeaderSession, id)
		}
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	if modern {
		defer context.AfterFunc(r.Context(), func() { cancel(mcpio.ErrCancelledByClient) })()
	}
	reply, err := project.Exchanges.Handle(ctx, exchange)
	if err != nil && !answer.close() {
		s.refuse(w, r, http.StatusServiceUnavailable, nil, err)
		return
	}
	answer.finish(reply)
}
