package hub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"savant/internal/access"
	"savant/internal/atomicfile"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
)

// sessionTime is how long a session lasts.
const sessionTime = 12 * time.Hour

// maxSessions is the maximum number of sessions, maxSessionFile the maximum size of
// their file.
const (
	maxSessions    = 1000
	maxSessionFile = 1 << 20
)

// session is opened by a link or a token.
type session struct {
	Until  int64          `json:"until"` // in seconds
	Scopes []access.Scope `json:"scopes"`
	// Name is that of the token that opened it.
	Name string `json:"name,omitempty"`
	// Token is the digest of the token that opened it; the session ends with the token.
	Token string `json:"token,omitempty"`
}

// sessions are a hub's sessions, by the digest of the browser's cookie. They are kept
// in a file, so that they survive a restart; the digests in it open no session.
type sessions struct {
	folder, name string // of the file; "" for no file
	logger       *slog.Logger

	mu   sync.Mutex
	open map[string]session
}

// openSessions reads the sessions of a hub, identified by its folder and address.
func openSessions(folder, hub string, logger *slog.Logger) *sessions {
	s := &sessions{logger: logger, open: map[string]session{}}
	if folder == "" {
		return s
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		logger.Warn("sessions of the hub could not be saved", "cause", err.Error())
		return s
	}
	s.folder, s.name = folder, jsonvalue.HexSum([]byte(hub))[:32]+".json"
	s.read()
	return s
}

// read loads the file, and removes files of hubs whose sessions have all expired.
func (s *sessions) read() {
	root, err := regular.OpenFolder(s.folder)
	if err != nil {
		return
	}
	defer root.Close()
	entries, _ := os.ReadDir(s.folder)
	for _, each := range entries {
		info, err := each.Info()
		if err == nil && filepath.Ext(each.Name()) == ".json" && time.Since(info.ModTime()) > sessionTime {
			_ = root.Remove(each.Name()) // the next start tries again
		}
	}
	data, err := regular.ReadFile(root, s.name, maxSessionFile)
	if err == nil && json.Unmarshal(data, &s.open) != nil || s.open == nil {
		s.open = map[string]session{}
	}
}

// begin opens a session and returns its secret for the cookie.
func (s *sessions) begin(visitor access.Caller, token string, now time.Time) string {
	secret := rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	for digest, each := range s.open {
		if each.Until <= now.Unix() || len(s.open) >= maxSessions {
			delete(s.open, digest)
		}
	}
	s.open[jsonvalue.HexSum([]byte(secret))] = session{Until: now.Add(sessionTime).Unix(), Scopes: visitor.Scopes, Name: visitor.Name, Token: token}
	s.keep()
	return secret
}

// end closes a session.
func (s *sessions) end(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, jsonvalue.HexSum([]byte(secret)))
	s.keep()
}

// find returns the session of a cookie's secret. The lookup by digest leaks nothing
// about others.
func (s *sessions) find(secret string, now time.Time) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, known := s.open[jsonvalue.HexSum([]byte(secret))]
	return found, known && now.Unix() < found.Until
}

// keep writes the file. The caller holds the lock.
func (s *sessions) keep() {
	if s.name == "" {
		return
	}
	data, _ := json.Marshal(s.open) // texts and numbers
	root, err := regular.OpenFolder(s.folder)
	if err == nil {
		err = errors.Join(atomicfile.Write(root, s.name, data, 0o600), root.Close())
	}
	if err != nil {
		s.logger.WarnContext(context.Background(), "sessions of the hub could not be saved", "cause", err.Error())
	}
}
