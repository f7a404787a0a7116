package streamable

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"savant/engines/mcpio"
	"savant/fault"
)

// A session id, in revisions with sessions, is the encoded result of initialize. So
// every server can read it and none stores it. It grants nothing: a forged id can only
// misdescribe the client, as initialize can.

// maxSession is the maximum length of a session id, maxName that of each text in it.
const (
	maxSession = 4 << 10
	maxName    = 200
)

// session is the content of an id. Nonce makes ids unique.
type session struct {
	Nonce string `json:"nonce"`
	mcpio.Peer
}

// newSessionID returns the id of an initialized client.
func newSessionID(peer mcpio.Peer) (string, error) {
	for _, text := range []*string{&peer.Name, &peer.Title, &peer.Version} {
		*text = fault.Cut(*text, maxName)
	}
	data, err := json.Marshal(session{rand.Text(), peer})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(data), nil
}

// peerOf returns the client that sent a request and the scope of its request ids.
// Without a session id only the headers describe the client. An invalid id is
// INVALID_PARAMS: the client initializes again.
func peerOf(header http.Header) (peer mcpio.Peer, scope string, err error) {
	revision := cmp.Or(header.Get(mcpio.HeaderRevision), mcpio.OldestHTTP)
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
		return peer, "", fault.New(fault.InvalidParams, "the session is unknown here: initialize again")
	}
	return s.Peer, id, nil
}
