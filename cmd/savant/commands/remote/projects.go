package remote

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/engines/mcpio/streamable"
	"savant/engines/repo/index"
	"savant/fault"
	"savant/internal/regular"
	"savant/internal/settings"
)

// projects are the served folders: the server's, and those that tokens are bound to. A
// folder is opened for its first caller. It is safe for concurrent use.
type projects struct {
	program *cli.Program
	main    *app.App
	ctx     context.Context
	stop    context.CancelFunc

	mu   sync.Mutex
	open map[string]*project // by folder; "" is the server's own
}

// project is one folder, open or being opened.
type project struct {
	once   sync.Once
	served *streamable.Project
	app    *app.App // nil for the server's own
	err    error
}

func newProjects(p *cli.Program, a *app.App) *projects {
	ctx, stop := context.WithCancel(context.Background())
	return &projects{program: p, main: a, ctx: ctx, stop: stop, open: map[string]*project{}}
}

// serverOf returns what is served for a folder. If a folder cannot be opened, the next caller
// tries again.
func (p *projects) serverOf(_ context.Context, folder string) (*streamable.Project, error) {
	if folder != "" {
		folder = filepath.Clean(folder)
	}
	if folder == p.main.Path {
		folder = ""
	}
	p.mu.Lock()
	if p.ctx.Err() != nil {
		p.mu.Unlock()
		return nil, fault.New(fault.EngineOffline, "the server is stopping")
	}
	one := p.open[folder]
	if one == nil {
		one = &project{}
		p.open[folder] = one
	}
	p.mu.Unlock()
	one.once.Do(func() { one.err = p.begin(one, folder) })
	if one.err == nil {
		return one.served, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[folder] == one {
		delete(p.open, folder)
	}
	return nil, one.err
}

// begin opens a folder and serves it.
func (p *projects) begin(one *project, folder string) error {
	a := p.main
	if folder != "" {
		opened, err := p.openFolder(folder)
		if err != nil {
			p.main.Logger.Error("the folder of a token cannot be opened", "folder", folder, "error", fault.From(err).Message())
			return fault.New(fault.EngineOffline, "the folder of this token cannot be opened; the log of the server has the cause")
		}
		a, one.app = opened, opened
	}
	published, err := a.Published()
	if err != nil {
		return err
	}
	server, err := a.Server(p.ctx, published, QuestionsOf(a, app.Configuration(p.program.World.Environment)))
	if err != nil {
		return err
	}
	a.FollowMounts(p.ctx, published)
	a.Logger.Info("serving MCP over HTTP", "engines", p.program.Settings.Services, "version", p.program.World.Version)
	a.LogHealth(p.ctx, published)
	one.served = &streamable.Project{Server: server, Exchanges: server.Exchanges()}
	return nil
}

// openFolder opens the program for another folder, with the flags and variables of this
// one and what the folder's own file may set. The server alone decides where runs are kept
// and where anything is sent.
func (p *projects) openFolder(folder string) (*app.App, error) {
	if !filepath.IsAbs(folder) {
		return nil, fault.New(fault.InvalidParams, "%q: name the folder of a token by its absolute path", folder)
	}
	if p.program.Settings.Store == settings.StoreMongo {
		return nil, fault.New(fault.InvalidParams, "the runs of this folder would be in the database of the server, together with the runs of others: start a separate server for it, with another database")
	}
	for _, kept := range []string{app.Configuration(p.program.World.Environment), tokenFile(p.program), index.UsersCache()} {
		if kept != "" && regular.Controls(folder, kept) {
			return nil, fault.New(fault.InvalidParams, "%s is in the folder of a token, whose bearer could change there what holds for others", kept)
		}
	}
	loaded, err := settings.LoadFolder(func(row settings.Setting) (string, bool) {
		if row.Env == settings.EnvPath {
			return folder, true
		}
		for _, value := range p.program.Loaded.Values {
			if value.Setting.Key == row.Key && value.Origin.Source == settings.FromFlag {
				return value.Text, true
			}
		}
		return "", false
	}, func(row settings.Setting) (string, bool) { return p.program.Variable(row.Env) }, app.Trust(p.program.World.Environment))
	if err != nil {
		return nil, err
	}
	if len(loaded.Unused) > 0 {
		p.main.Logger.Warn("over HTTP the file of settings of a token's folder decides less than on its own machine", "folder", folder, "unused", strings.Join(loaded.Unused, ", "))
	}
	options := p.program.Open
	options.Version, options.Environment, options.Engines = p.program.World.Version, p.program.World.Environment, p.program.World.Engines
	options.Settings, options.Stderr, options.Serving = loaded, p.program.Stderr, true
	return app.Open(p.ctx, options)
}

// close ends running work and closes the folders of tokens. It may be called twice.
func (p *projects) close() {
	p.mu.Lock()
	open := p.open
	p.open = map[string]*project{}
	p.stop()
	p.mu.Unlock()
	var all sync.WaitGroup
	for _, one := range open {
		all.Go(func() {
			one.once.Do(func() { one.err = errors.New("the server is stopping") })
			if one.served != nil {
				one.served.Exchanges.Close()
			}
			if one.app != nil {
				_ = one.app.Close(p.ctx) // acknowledged records are on disk
			}
		})
	}
	all.Wait()
}
