package main

import (
	"context"
	"time"

	"savant/engines"
	"savant/engines/mcpio/mount"
	"savant/fault"
)

// mountServers makes the servers of .savant/mcp.json engines, after Savant's
// own: those keep their names.
func (p *program) mountServers(h *house) {
	h.mounts = mount.Open(mount.Options{
		Root:        h.root,
		Path:        h.path,
		Registry:    h.tools,
		Environment: p.environment,
		Version:     programVersion(),
		Logger:      h.logger,
	})
}

// tendServers looks after the mounted servers while MCP is served: those never
// seen are started in the background, and clients are told of their tools.
func (h *house) tendServers(ctx context.Context, services []string) {
	published, err := h.published(services)
	if err != nil {
		return // who serves has said so
	}
	go h.mounts.Discover(ctx, published.Engines()...)
	go h.mounts.Follow(ctx, published.Shows)
}

// discoverPatience is how long a command waits for servers never seen before.
const discoverPatience = 30 * time.Second

// awaitServers waits until the servers that are published and were never seen
// are known. The error is that of ctx.
func (h *house) awaitServers(ctx context.Context, published *engines.Registry) error {
	bounded, cancel := context.WithTimeout(ctx, discoverPatience)
	defer cancel()
	defer h.sayWaiting()()
	h.mounts.Discover(bounded, published.Engines()...)
	if ctx.Err() != nil {
		return fault.New(fault.EngineOffline, "interrupted while mounted servers were waited for")
	}
	return nil
}

// unsaidWait is how long a command waits for servers without saying so.
const unsaidWait = time.Second

// sayWaiting tells who waits why, unless what it returns is called before.
func (h *house) sayWaiting() (stop func()) {
	timer := time.AfterFunc(unsaidWait, func() {
		h.logger.Warn("waiting for mounted servers that have not answered yet", "at_most", discoverPatience)
	})
	return func() { timer.Stop() }
}

// seekTool looks among the mounted servers for a tool that nobody has: the file
// may have changed, and a server never seen may have it.
func (h *house) seekTool(ctx context.Context, name string, shown func(engine string) bool) {
	if h.mounts == nil {
		return // nothing is mounted yet
	}
	ctx, cancel := context.WithTimeout(ctx, discoverPatience)
	defer cancel()
	defer h.sayWaiting()()
	h.mounts.Seek(ctx, name, shown)
}

// closeServers ends what the mounted servers run. It is not hurried by the end
// of the program: no process may be left behind.
func (h *house) closeServers() {
	if h.mounts != nil {
		h.mounts.Close()
	}
}
