// Package mount makes the MCP servers of .savant/mcp.json engines of the registry. A
// server is started on its first call; its tools are listed from the definitions that
// were trusted before.
package mount

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"savant/engines"
	"savant/fault"
	"savant/internal/redact"
	"savant/internal/trust"
)

// Options say which servers are mounted, and how. Logger and the durations are
// optional.
type Options struct {
	// Root is SAVANT_PATH, Path its absolute name.
	Root *os.Root
	Path string
	// Registry gets the engines. Existing engines keep their names.
	Registry *engines.Registry
	// Environment is Savant's; servers get only the variables that are allowed.
	Environment []string
	// Trust says which servers a person accepted. Other servers are not started, their
	// tools are not listed, and variables in their entries are not expanded.
	Trust *trust.Folder
	// Version is sent to servers as the client's version.
	Version string
	// Logger gets starts and ends of servers and their stderr; never arguments, results
	// or secrets. Nil discards them.
	Logger *slog.Logger
	// FirstPause is the back-off after a server's first failure. It doubles with each
	// further failure, up to a minute; 0 means half a second.
	FirstPause time.Duration
	// ListFor is how long a list of tools is cached, unless the server announces a
	// change; 0 means five minutes.
	ListFor time.Duration
	// PingTime is how long a server may take to answer a ping after a call timed out,
	// before it is ended; 0 means five seconds.
	PingTime time.Duration
}

const (
	defaultFirstPause = 500 * time.Millisecond
	defaultListFor    = 5 * time.Minute
	defaultPingTime   = 5 * time.Second
	maxPause          = time.Minute
)

// mountedBy is an environment variable of every mounted server. A Savant that has it
// mounts nothing: with the same file, it would mount itself without end.
const mountedBy = "SAVANT_MOUNTED"

// Mounts are the mounted servers. It is safe for concurrent use.
type Mounts struct {
	options Options
	mounted bool // this Savant is itself mounted
	// own are the engines of the registry that are not mounted.
	own []string
	// life ends with Close; work counts the goroutines that run until then.
	life     context.Context
	end      context.CancelCauseFunc
	work     sync.WaitGroup
	adopting sync.Mutex

	reloading sync.Mutex // guards seen; held during Reload
	seen      string     // the text of the file, or why it could not be read, and the stamp of trust

	mutex    sync.Mutex // guards what follows
	servers  []*server  // in the order of the file
	problems []*fault.Error
}

var errStopping = errors.New("the program is stopping")

// Open reads the file of servers and adds an engine for each to the registry. It starts
// nothing and never fails: a server that cannot be mounted becomes an offline engine,
// or one of the Problems if its name cannot be an engine's.
func Open(options Options) *Mounts {
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	options.FirstPause = cmp.Or(options.FirstPause, defaultFirstPause)
	options.ListFor = cmp.Or(options.ListFor, defaultListFor)
	options.PingTime = cmp.Or(options.PingTime, defaultPingTime)
	m := &Mounts{options: options, own: options.Registry.Engines()}
	m.life, m.end = context.WithCancelCause(context.Background())
	_, m.mounted = lookupIn(options.Environment)(mountedBy)
	m.Reload()
	return m
}

// problem records and logs an error that concerns no engine.
func (m *Mounts) problem(err error) {
	coded := fault.From(err)
	m.mutex.Lock()
	m.problems = append(m.problems, coded)
	m.mutex.Unlock()
	m.options.Logger.Error("some servers of .savant/mcp.json are not mounted", "reason", coded.Message()+place(coded))
}

// Problems returns what is wrong with the file of servers apart from its engines: it is
// not JSON, or a name cannot be an engine's.
func (m *Mounts) Problems() []*fault.Error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.problems)
}

// add makes a server an engine. lockErr is why the lock file could not be read, or nil.
func (m *Mounts) add(each entry, others []string, trusted *pinnedServer, lockErr error) {
	if message := checkEngineName(each.name, m.own); message != "" {
		m.problem(fault.New(fault.InvalidParams, "%s: server %q: %s", File, fault.Cut(each.name, 60), message))
		return
	}
	s := &server{entry: each, untrusted: m.untrusted(each), registry: m.options.Registry, others: others, root: m.options.Root, folder: m.options.Path, answers: m.options.Trust, logger: m.options.Logger,
		version: m.options.Version,
		work:    &m.work, adopting: &m.adopting, trusted: trusted, pause: m.newPause(), listFor: m.options.ListFor, pingTime: m.options.PingTime}
	s.life, s.end = context.WithCancelCause(m.life)
	s.prepare(m.options.Environment, m.options.Path, lockErr)
	err := m.options.Registry.AddEngine(engines.Engine{Name: each.name, Description: "The MCP server " + each.name + " of " + File + ".",
		Timeout: time.Duration(each.timeout), Status: s.status})
	if err != nil {
		s.end(err)
		m.problem(fault.New(fault.IDCollision, "%s: server %s: another engine has this name: rename it", File, each.name))
		return
	}
	m.set(append(m.all(), s))
	if s.trusted == nil || each.disabled || s.untrusted != nil {
		return
	}
	if err := s.publish(slices.Collect(maps.Keys(s.trusted.Tools))); err != nil {
		m.problem(err)
	}
}

func (m *Mounts) newPause() *backoff.ExponentialBackOff {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval, pause.Multiplier = m.options.FirstPause, maxPause, 2
	return pause
}

// prepare sets how the server is started, and whether it may be.
func (s *server) prepare(environment []string, folder string, lockErr error) {
	s.launch.hidden, s.launch.secrets = redact.Shapes(), redact.Shapes().KnownOnly()
	if s.entry.wrong != nil {
		s.fixed = s.entry.wrong
		return
	}
	if s.untrusted != nil {
		s.fixed = s.untrusted
		return
	}
	var err error
	s.launch, err = s.entry.resolve(environment, folder)
	switch {
	case lockErr != nil:
		s.fixed = fault.From(lockErr)
	case err != nil:
		s.fixed = offline(err)
	}
	if s.fixed != nil {
		s.logger.Debug("a server is offline", "server", s.entry.name, "reason", s.fixed.Details)
	}
}

// offline converts an error to ENGINE_OFFLINE.
func offline(err error) *fault.Error {
	coded := fault.From(err)
	return fault.New(fault.EngineOffline, "%s", coded.Message()).With(coded.Diagnostics...)
}

// Discover starts those of the named servers that have no trusted definitions yet,
// concurrently, and waits until their tools are published, the start failed, or ctx
// ends. Errors are in the log and in the engine's status.
func (m *Mounts) Discover(ctx context.Context, engines ...string) {
	var all sync.WaitGroup
	for _, each := range m.all() {
		if slices.Contains(engines, each.entry.name) {
			all.Go(func() { _ = each.discover(ctx) })
		}
	}
	all.Wait()
}

// Close ends every server and returns when all have ended. It kills a server after a
// second.
func (m *Mounts) Close() {
	m.end(errStopping)
	m.work.Wait()
}

// server returns a mounted server by name.
func (m *Mounts) server(name string) (*server, error) {
	var names []string
	for _, each := range m.all() {
		if each.entry.name == name {
			return each, nil
		}
		names = append(names, each.entry.name)
	}
	return nil, fault.New(fault.InvalidParams, "%s has no server %q%s", File, fault.Cut(name, 60), fault.NearestHint("; did you mean %s?", name, names))
}
