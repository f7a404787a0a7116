package app

import (
	"context"
	"time"

	"savant/engines"
	"savant/engines/mount"
	"savant/fault"
)

// mountServers mounts the servers of .savant/mcp.json. It runs after Savant's engines
// are registered, so that those keep their names.
func (a *App) mountServers() {
	a.Mounts = mount.Open(mount.Options{
		Root:        a.Root,
		Path:        a.Path,
		Registry:    a.Tools,
		Trust:       a.trust,
		Environment: a.options.Environment,
		Version:     a.options.Version,
		Logger:      a.Logger,
	})
}

// FollowMounts keeps the mounted servers up to date while MCP or the hub is served: new
// servers are started in the background, and clients are notified of their tools.
func (a *App) FollowMounts(ctx context.Context, published *engines.Registry) {
	go a.Mounts.Discover(ctx, published.Engines()...)
	go a.Mounts.Follow(ctx, published.Shows)
}

// discoverPatience is how long a command waits for new servers.
const discoverPatience = 30 * time.Second

// AwaitServers waits until the tools of all published servers are known. The error is
// that of ctx.
func (a *App) AwaitServers(ctx context.Context, published *engines.Registry) error {
	bounded, cancel := context.WithTimeout(ctx, discoverPatience)
	defer cancel()
	defer a.sayWaiting()()
	a.Mounts.Discover(bounded, published.Engines()...)
	if ctx.Err() != nil {
		return fault.New(fault.EngineOffline, "interrupted while waiting for mounted servers")
	}
	return nil
}

// unsaidWait is how long a command waits for servers before it reports that.
const unsaidWait = time.Second

// sayWaiting logs after a second why a command waits, unless stop is called first.
func (a *App) sayWaiting() (stop func()) {
	timer := time.AfterFunc(unsaidWait, func() {
		a.Logger.Warn("waiting for mounted servers that have not answered yet", "at_most", discoverPatience)
	})
	return func() { timer.Stop() }
}

// mountSeeker implements engines.Seeker.
type mountSeeker struct{ *App }

// SeekTool looks for an unknown tool among the mounted servers: the file may have
// changed, and a new server may have it.
func (a mountSeeker) SeekTool(ctx context.Context, name string, shown func(engine string) bool) {
	if a.Mounts == nil {
		return // nothing is mounted yet
	}
	ctx, cancel := context.WithTimeout(ctx, discoverPatience)
	defer cancel()
	defer a.sayWaiting()()
	a.Mounts.Seek(ctx, name, shown)
}
