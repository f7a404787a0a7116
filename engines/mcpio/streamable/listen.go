package streamable

import (
	"net/http"
	"strings"

	"savant/engines/mcpio"
	"savant/fault"
	"savant/internal/access"
)

// listen serves the stream of server messages (list changes) of revisions before
// 2026-07-28. It lasts until the client leaves or the server ends.
func (s *Server) listen(w http.ResponseWriter, r *http.Request, _ access.Caller, project *Project) {
	peer, _, err := peerOf(r.Header)
	switch {
	case err != nil:
		s.refuse(w, r, http.StatusNotFound, nil, err)
		return
	case !mcpio.HasSessions(peer.Protocol):
		w.Header().Set("Allow", "POST")
		s.refuse(w, r, http.StatusMethodNotAllowed, nil, fault.New(fault.InvalidParams, "revision %s has no such stream: send subscriptions/listen", fault.Cut(peer.Protocol, 40)))
		return
	case !strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), eventStream):
		s.refuse(w, r, http.StatusNotAcceptable, nil, fault.New(fault.InvalidParams, "a client must accept text/event-stream"))
		return
	}
	answer := &answer{writer: w, control: http.NewResponseController(w), stream: true}
	stop := answer.keepAlive(keepAliveInterval)
	project.Exchanges.Listen(r.Context(), answer.comment, answer.send)
	stop()
	answer.finish(nil)
}
