package streamable

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"savant/engines/mcpio"
	"savant/fault"
)

// A session id, in revisions that have one, is what initialize told of the client,
// written down: so every server knows it, and none keeps it. It allows nothing. An id
// that somebody made up says of them what they like, as initialize does.

// maxSession is how long a session id may be, and maxName each text in it.
const (
	maxSession = 4 << 10
	maxName    = 200
)

// session is what an id holds. Nonce makes ids differ.
type session struct {
	Nonce    string `json:"i"`
	Name     string `json:"n,omitempty"`
	Title    string `json:"t,omitempty"`
	Version  string `json:"v,omitempty"`
	Protocol string `json:"p"`
	Forms    bool   `json:"f,omitempty"`
}

// newSessionID returns the id of a client that has initialized.
func newSessionID(peer mcpio.Peer) (string, error) {
	data, err := json.Marshal(session{rand.Text(), fault.Cut(peer.Name, maxName), fault.Cut(peer.Title, maxName), fault.Cut(peer.Version, maxName), peer.Protocol, peer.Forms})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(data), nil
}

// peerOf returns the client that a request is from, and the scope of its ids: of one
// that sends no session id, only what its headers say is known. An id that is none of
// ours is INVALID_PARAMS: the client initializes again.
func peerOf(header http.Header) (peer mcpio.Peer, scope string, err error) {
	revision := header.Get(mcpio.HeaderRevision)
	if revision == "" {
		revision = mcpio.OldestHTTP
	}
	id := header.Get(mcpio.HeaderSession)
	if id == "" || !mcpio.HasSessions(revision) {
		return mcpio.Peer{Protocol: revision}, "", nil
	}
	data, err := base64.RawURLEncoding.DecodeString(fault.Cut(id, maxSession))
	var s session
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil || s.Nonce == "" || s.Protocol == "" {
		return peer, "", fault.New(fault.InvalidParams, "the session is not known here: initialize again")
	}
	return mcpio.Peer{Name: s.Name, Title: s.Title, Version: s.Version, Protocol: s.Protocol, Forms: s.Forms}, id, nil
}
