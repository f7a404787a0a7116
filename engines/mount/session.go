package mount

import (
	"context"
	"sync"
	"time"

	"savant/engines/mcpclient"
	"savant/fault"
)

const (
	// maxMessage is the maximum size of a server's message, in bytes.
	maxMessage = 16 << 20
	// startTimeout bounds the start and the first list of tools: npx may have to
	// download the server.
	startTimeout = 60 * time.Second
	// maxTools is the maximum number of tools of one server.
	maxTools = 500
)

// session is one run of a server, from its start to its end.
type session struct {
	client  *mcpclient.Client
	process *process // nil for a server behind a url
	// definitions are the tools of the latest list, made at the time listed.
	definitions []mcpclient.Definition
	listed      time.Time
	// relist has a value if the server announced that its tools changed.
	relist chan struct{}
	closed sync.Once
	// offers tells the tools that can be published, by the server's names.
	offers func(tool string) bool
}

// start reaches the server and lists its tools, within ctx.
func (of *server) start(ctx context.Context) (*session, error) {
	s := &session{relist: make(chan struct{}, 1), listed: time.Now(), offers: of.entry.offers}
	options := mcpclient.Options{Name: "savant-mount", Version: of.version, MaxLine: maxMessage,
		Logger: of.logger.With("server", of.entry.name), Hidden: of.launch.hidden,
		ToolsChanged: func() {
			select {
			case s.relist <- struct{}{}:
			default: // a change is pending already
			}
		}}
	var err error
	if of.launch.url != "" {
		s.client, err = mcpclient.ConnectHTTP(ctx, of.launch.url, of.launch.headers, options)
	} else {
		err = s.startProcess(ctx, of, options)
	}
	if err != nil {
		return nil, err
	}
	if s.definitions, err = s.list(ctx); err != nil {
		s.close()
		return nil, fault.New(fault.EngineOffline, "%s%s", fault.From(err).Message(), s.process.lastWords())
	}
	return s, nil
}

func (s *session) startProcess(ctx context.Context, of *server, options mcpclient.Options) error {
	part, err := of.entry.part(of.folder) // its programs may have changed since the file was read
	if err == nil {
		err = of.answers.Require(part)
	}
	if err == nil {
		s.process, err = startProcess(of.launch)
	}
	if err != nil {
		return err
	}
	go s.process.readStderr(of.entry.name, of.launch.hidden, of.logger)
	if s.client, err = mcpclient.Connect(ctx, s.process.stdin, s.process.stdout, options); err != nil {
		s.process.stop()
		_ = s.process.stdout.Close()
		return fault.New(fault.EngineOffline, "%s%s", fault.From(err).Message(), s.process.lastWords())
	}
	return nil
}

// list asks the server for the definitions of its tools.
func (s *session) list(ctx context.Context) ([]mcpclient.Definition, error) {
	all, err := s.client.Definitions(ctx)
	offered := 0
	for _, each := range all {
		if s.offers(each.Name) {
			offered++
		}
	}
	if err == nil && offered > maxTools {
		return nil, fault.New(fault.LimitExceeded, "it offers %d tools, more than %d: name those that you need under allow in %s", offered, maxTools, File)
	}
	return all, err
}

// close ends the session and its process. It may take a second.
func (s *session) close() {
	s.closed.Do(func() {
		if s.process != nil {
			s.process.stop()
			<-s.client.Done()
			_ = s.process.stdout.Close()
			return
		}
		_ = s.client.Close() // the server is dropped either way
	})
}

// alive reports whether calls can still be answered.
func (s *session) alive() bool {
	select {
	case <-s.client.Done():
		return false
	default:
		return true
	}
}
