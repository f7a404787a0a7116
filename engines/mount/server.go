package mount

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/fault"
	"savant/internal/trust"
)

const (
	// maxWait is how long a call waits for the next attempt to start a server that
	// failed. If the attempt is later, the call is ENGINE_OFFLINE.
	maxWait = 2 * time.Second
)

// server is one mounted server and its engine.
type server struct {
	entry entry
	// untrusted is set if nobody accepted the server; it is then not used.
	untrusted *fault.Error
	launch    launch
	version   string // Savant's, sent to servers
	registry  *engines.Registry
	others    []string // the names of all servers of the file
	root      *os.Root
	folder    string        // the path of root
	answers   *trust.Folder // what a person accepted
	logger    *slog.Logger
	// life ends with the mounts, or when the server is replaced; work counts the
	// goroutines that run until then.
	life context.Context
	end  context.CancelCauseFunc
	work *sync.WaitGroup

	// adopting, shared by all servers, is held while tools are compared and published.
	// So the latest list is published last, and of two servers that claim one name
	// exactly one gets it. It is locked before mutex.
	adopting *sync.Mutex

	mutex sync.Mutex
	// fixed is why the server is not started: its entry is wrong, or a variable is
	// missing. Nil: it may be started.
	fixed   *fault.Error
	trusted *pinnedServer
	live    *session
	// starting is closed when the current start has ended.
	starting chan struct{}
	failed   error // why the last start failed, or nil
	again    time.Time
	pause    *backoff.ExponentialBackOff
	listFor  time.Duration
	pingTime time.Duration
	// changed holds the tools that differ from their pins, refused those that cannot be
	// published: the reason by the server's name of the tool.
	changed, refused map[string]string
}

// session returns the server's session, starting the server if needed. ctx bounds the
// wait, not the start: other calls may wait for it too.
func (s *server) session(ctx context.Context) (*session, error) {
	for {
		s.mutex.Lock()
		live, starting, wait := s.live, s.starting, time.Until(s.again)
		switch {
		case s.fixed != nil:
			err := s.fixed
			s.mutex.Unlock()
			return nil, err
		case s.life.Err() != nil:
			s.mutex.Unlock()
			return nil, fault.New(fault.EngineOffline, "%s: %v", s.entry.name, context.Cause(s.life))
		case live != nil && live.alive():
			s.mutex.Unlock()
			return live, nil
		case starting == nil && wait > maxWait:
			err := fault.New(fault.EngineOffline, "%s is offline and will be tried again in %v: %s", s.entry.name, wait.Round(time.Second), s.reason())
			s.mutex.Unlock()
			return nil, err
		case starting == nil && wait <= 0:
			s.begin()
			starting = s.starting
		}
		s.mutex.Unlock()
		if err := s.await(ctx, starting, wait); err != nil {
			return nil, err
		}
	}
}

// await waits for the current start, or else for the next attempt.
func (s *server) await(ctx context.Context, starting <-chan struct{}, wait time.Duration) error {
	if starting == nil {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return s.notBegun(ctx)
		}
	}
	select {
	case <-starting:
	case <-ctx.Done():
		return s.notBegun(ctx)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.failed != nil {
		return fault.New(fault.EngineOffline, "%s does not start: %s", s.entry.name, s.reason())
	}
	return nil
}

// reason returns why the last start failed, without secrets. The mutex is held.
func (s *server) reason() string {
	if s.failed == nil {
		return "it ended unexpectedly"
	}
	return fault.Cut(s.launch.hidden.Text(fault.From(s.failed).Message()), 500)
}

// begin starts the server on a goroutine. The mutex is held.
func (s *server) begin() {
	over := make(chan struct{})
	s.starting = over
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, startTimeout)
		defer cancel()
		began, err := s.start(ctx)
		if err == nil {
			if err = s.adopt(began); err != nil {
				began.close()
			}
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		defer close(over)
		s.starting, s.failed = nil, err
		if err != nil {
			s.again = time.Now().Add(s.pause.NextBackOff())
			s.logger.Warn("a server does not start", "server", s.entry.name, "reason", s.reason())
			return
		}
		s.live = began
		s.logger.Info("a server started", "server", s.entry.name, "tools", len(began.definitions))
		s.work.Go(func() { s.watch(began) })
	})
}

// watch lists the tools again when they change, until the session ends.
func (s *server) watch(began *session) {
	for {
		select {
		case <-began.relist:
			if err := s.relist(began); err != nil && s.life.Err() == nil && began.alive() {
				s.logger.Warn("a server's tools changed and cannot be listed", "server", s.entry.name,
					"reason", s.launch.hidden.Text(fault.From(err).Message()))
			}
		case <-began.client.Done():
			s.startBackOff(began)
			began.close()
			return
		case <-s.life.Done():
			began.close()
			return
		}
	}
}

func (s *server) relist(began *session) error {
	ctx, cancel := context.WithTimeout(s.life, startTimeout)
	defer cancel()
	definitions, err := began.list(ctx)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	began.definitions, began.listed = definitions, time.Now()
	s.mutex.Unlock()
	return s.adopt(began)
}

// outdated reports whether the list of tools is too old.
func (s *server) outdated(live *session) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return time.Since(live.listed) > s.listFor
}

// startBackOff starts a back-off, unless the session was closed by Savant.
func (s *server) startBackOff(over *session) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.live != over {
		return
	}
	s.live = nil
	pause := s.pause.NextBackOff()
	s.again = time.Now().Add(pause)
	if s.life.Err() == nil {
		s.logger.Warn("a server ended and will be started again when it is called", "server", s.entry.name, "pause", pause)
	}
}

// succeeded resets the back-off.
func (s *server) succeeded() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.pause.Reset()
	s.again = time.Time{}
}

// drop ends a session; the next call starts another.
func (s *server) drop(hung *session) {
	s.mutex.Lock()
	if s.live == hung {
		s.live = nil
	}
	s.mutex.Unlock()
	hung.close()
}

// unreachable ends the session of an unreachable server.
func (s *server) unreachable(live *session, why error) {
	s.mutex.Lock()
	if s.live == live {
		s.live, s.failed = nil, why
		s.again = time.Now().Add(s.pause.NextBackOff())
	}
	s.mutex.Unlock()
	s.work.Go(live.close)
}

// pingOrEnd pings a server whose call timed out, and ends its session if the ping times
// out too.
func (s *server) pingOrEnd(suspect *session) {
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, s.pingTime)
		defer cancel()
		if err := suspect.client.Ping(ctx); err != nil && errors.Is(err, fault.EngineOffline) && s.life.Err() == nil {
			s.logger.Warn("a server that does not answer is ended", "server", s.entry.name)
			s.drop(suspect)
		}
	})
}

// definition returns the trusted definition of a tool.
func (s *server) definition(tool string) (mcpclient.Definition, bool) {
	if s.trusted == nil {
		return mcpclient.Definition{}, false
	}
	held, has := s.trusted.Tools[tool]
	return held.definition(tool), has
}
