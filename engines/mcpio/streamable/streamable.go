// Package streamable serves MCP over Streamable HTTP, revisions 2025-03-26 to
// 2026-07-28. It does authentication, authorisation and rate limiting, and passes each
// message to package mcpio. It stores nothing between requests, so any server with the
// same SAVANT_PATH can serve any of them.
package streamable

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"savant/engines/mcpio"
	"savant/fault"
	"savant/internal/access"
	"savant/internal/webguard"
)

// Path is the endpoint for messages.
const Path = "/mcp"

// Defaults of the options.
const (
	DefaultMaxBody  = 8 << 20
	DefaultBodyTime = 30 * time.Second
)

// Project is what is served for one folder.
type Project struct {
	Server    *mcpio.Server
	Exchanges *mcpio.Exchanges
}

// Options configure a Server. Guard, Door, Project and Ready are required.
type Options struct {
	Guard webguard.Guard
	Door  *access.Door
	// Project returns what callers of a folder are served; "" is the server's own
	// folder.
	Project func(ctx context.Context, folder string) (*Project, error)
	// Ready returns why requests cannot be served now, or nil.
	Ready func(ctx context.Context) error
	// Resource is the public URL of Path. Issuer is the URL of the authorisation server
	// whose tokens are accepted; empty: none.
	Resource, Issuer string
	// MaxBody is the maximum size of a message in bytes, BodyTime the time in which it
	// must arrive.
	MaxBody  int64
	BodyTime time.Duration
	// PerMinute is the maximum number of requests per minute of a caller whose token
	// sets none; 0: no limit.
	PerMinute int
	// Logger gets a record of each refused request, without tokens; nil discards them.
	Logger *slog.Logger
}

// Server serves requests. It is safe for concurrent use.
type Server struct {
	options Options
	quotas  *quotas

	mu       sync.Mutex
	ended    bool // no more requests are accepted
	running  int
	idle     chan struct{} // closed when the server is ending and no request runs
	projects map[*Project]bool
}

// New returns a server.
func New(options Options) *Server {
	options.MaxBody = cmp.Or(max(options.MaxBody, 0), DefaultMaxBody)
	options.BodyTime = cmp.Or(max(options.BodyTime, 0), DefaultBodyTime)
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	return &Server{options: options, quotas: newQuotas(options.PerMinute), idle: make(chan struct{}), projects: map[*Project]bool{}}
}

// Handler serves Path, /healthz, /readyz and the metadata of OAuth.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET "+metadataPath, s.metadata)
	mux.HandleFunc("GET "+metadataPath+Path, s.metadata)
	mux.HandleFunc("POST "+Path, s.authorized(s.post))
	mux.HandleFunc("GET "+Path, s.authorized(s.listen))
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		// The server stores no sessions, so DELETE, which ends one, is not served.
		w.Header().Set("Allow", "GET, POST")
		s.refuse(w, r, http.StatusMethodNotAllowed, nil, fault.New(fault.InvalidParams, "%s is not served here", fault.Cut(r.Method, 20)))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, nil, fault.New(fault.InvalidParams, "nothing is served here: MCP is at %s", Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.ContentLength != 0 { // of a refused request, too, the rest is read before the reply
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.options.BodyTime)) // a test's writer may not support deadlines
		}
		err := s.options.Guard.CheckHost(r)
		if err == nil {
			err = s.options.Guard.CheckOrigin(r)
		}
		if err != nil {
			s.refuse(w, r, http.StatusForbidden, nil, err)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serve handles one request of an authenticated caller.
type serve func(w http.ResponseWriter, r *http.Request, caller access.Caller, project *Project)

// authorized passes on requests of callers with at least the read scope, within their
// limits.
func (s *Server) authorized(next serve) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			s.refuse(w, r, http.StatusServiceUnavailable, nil, fault.New(fault.EngineOffline, "the server is stopping: try another server, or try again"))
			return
		}
		defer s.finish()
		caller, err := s.options.Door.Caller(r.Context(), webguard.Bearer(r))
		if err != nil {
			s.challenge(w, r, err)
			return
		}
		if !caller.May(access.Read) {
			s.forbid(w, r, nil, caller, access.Read)
			return
		}
		release, err := s.quotas.admit(caller, 1)
		if err != nil {
			s.overQuota(w, r, nil, caller, err)
			return
		}
		defer release()
		project, err := s.project(r.Context(), caller.Folder)
		if err != nil {
			s.refuse(w, r, http.StatusServiceUnavailable, nil, err)
			return
		}
		next(w, r, caller, project)
	}
}

// project returns what is served for a folder, and caches it.
func (s *Server) project(ctx context.Context, folder string) (*Project, error) {
	project, err := s.options.Project(ctx, folder)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.projects[project] = true
	if s.ended {
		project.Exchanges.EndListening()
	}
	return project, nil
}

// begin counts a request as running; false if the server is ending.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.running++
	return true
}

func (s *Server) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.signalIdle()
}

// signalIdle signals End that no request runs; the mutex is held.
func (s *Server) signalIdle() {
	if s.ended && s.running == 0 {
		close(s.idle)
	}
}

// End stops accepting requests: /readyz and new requests get 503, and streams end. It
// returns when the running requests are answered, or with the cause of ctx. It must be
// called once.
func (s *Server) End(ctx context.Context) error {
	s.mu.Lock()
	s.ended = true
	for project := range s.projects {
		project.Exchanges.EndListening()
	}
	s.signalIdle()
	s.mu.Unlock()
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
