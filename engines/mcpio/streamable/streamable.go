// Package streamable serves MCP over Streamable HTTP, revisions 2025-03-26 to
// 2026-07-28: it checks who asks, what for and how often, and hands each message to
// package mcpio, which also serves stdio. Nothing is kept between two requests, so any
// server on the same SAVANT_PATH answers any of them.
package streamable

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"savant/engines"
	"savant/engines/mcpio"
	"savant/fault"
	"savant/internal/access"
	"savant/internal/webguard"
)

// Path is where messages are sent to.
const Path = "/mcp"

// What the zero value of an option stands for.
const (
	DefaultMaxBody  = 8 << 20
	DefaultBodyTime = 30 * time.Second
)

// Project is what is served of one folder.
type Project struct {
	Server    *mcpio.Server
	Exchanges *mcpio.Exchanges
	Registry  *engines.Registry
}

// Options say who is served, and what. Guard, Door, Project and Ready are needed.
type Options struct {
	Guard webguard.Guard
	Door  *access.Door
	// Project returns what is served to the callers of a folder; "" is the server's own.
	Project func(ctx context.Context, folder string) (*Project, error)
	// Ready says why nothing can be served now.
	Ready func(ctx context.Context) error
	// Resource is the address of Path as clients know it, and Issuer that of the
	// authorisation server whose tokens count; empty: there is none.
	Resource, Issuer string
	// MaxBody is how long a message may be, in bytes, and BodyTime how long it may take
	// to arrive.
	MaxBody  int64
	BodyTime time.Duration
	// PerMinute is how many requests a caller may send in a minute where their token
	// does not say; 0: any number.
	PerMinute int
	// Logger gets a record of each request that is refused, without tokens; nil
	// discards them.
	Logger *slog.Logger
}

// Server answers requests. It may be used by several goroutines at once.
type Server struct {
	options Options
	quotas  *quotas

	mu       sync.Mutex
	ending   chan struct{} // closed when no request is begun any more
	ended    bool
	running  int
	idle     chan struct{} // closed when the server ends and nothing runs
	projects map[*Project]bool
}

// New returns a server.
func New(options Options) *Server {
	if options.MaxBody <= 0 {
		options.MaxBody = DefaultMaxBody
	}
	if options.BodyTime <= 0 {
		options.BodyTime = DefaultBodyTime
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{options: options, quotas: newQuotas(options.PerMinute), ending: make(chan struct{}), idle: make(chan struct{}), projects: map[*Project]bool{}}
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
		// Nothing is kept of a session, so there is none to end: DELETE is not served.
		w.Header().Set("Allow", "GET, POST")
		s.refuse(w, r, http.StatusMethodNotAllowed, nil, fault.New(fault.InvalidParams, "%s is not served here", fault.Cut(r.Method, 20)))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, nil, fault.New(fault.InvalidParams, "nothing is served here: MCP is at %s", Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
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

// serve answers one request of a caller.
type serve func(w http.ResponseWriter, r *http.Request, caller access.Caller, project *Project)

// authorized lets through who may read at least, and not too often.
func (s *Server) authorized(next serve) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			s.refuse(w, r, http.StatusServiceUnavailable, nil, fault.New(fault.EngineOffline, "the server is ending: ask another one, or again"))
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
		release, err := s.quotas.admit(caller)
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

// project returns what is served of a folder, and remembers it.
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

// begin counts a request, unless the server is ending.
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
	s.rest()
}

// rest tells End that nothing runs; the mutex is held.
func (s *Server) rest() {
	if s.ended && s.running == 0 {
		close(s.idle)
	}
}

// End begins no request any more: /readyz and new requests are answered with 503, and
// streams end. It returns when what runs is answered, or with the cause of ctx. It is
// called once.
func (s *Server) End(ctx context.Context) error {
	s.mu.Lock()
	s.ended = true
	close(s.ending)
	for project := range s.projects {
		project.Exchanges.EndListening()
	}
	s.rest()
	s.mu.Unlock()
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
