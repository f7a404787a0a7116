package demo

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"savant/engines/mcpclient"
	"savant/fault"
	"savant/internal/settings"
)

// child is a Savant server in its own process.
type child struct {
	command *exec.Cmd
	client  *mcpclient.Client
}

// childGrace bounds how long a child may take to end after a signal.
const childGrace = 5 * time.Second

// startServer starts `savant mcp` on pipes and connects to it. The server keeps its
// state under path and may read the repository at top.
func startServer(ctx context.Context, options Options, path, top string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fault.New(fault.Internal, "finding this program: %w", err)
	}
	command := exec.CommandContext(ctx, self, "mcp")
	command.Env = slices.Concat(options.Environment, childSettings(options.Settings, path, top))
	command.Stderr = options.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = childGrace
	client, err := mcpclient.Start(ctx, command, mcpclient.Options{Version: options.Version})
	if err != nil {
		return nil, err
	}
	return &child{command, client}, nil
}

// childSettings are the variables that differ from this process. The server's
// informational log would mix with the steps shown, so it is off.
func childSettings(own settings.Settings, path, top string) []string {
	level := own.LogLevel
	if level == slog.LevelInfo {
		level = slog.LevelWarn
	}
	roots := append(slices.Clone(own.GitRoots), top)
	return []string{
		settings.EnvServices + "=think,git",
		settings.EnvPath + "=" + path,
		settings.EnvLogLevel + "=" + strings.ToLower(level.String()),
		settings.EnvGitRoots + "=" + strings.Join(roots, string(filepath.ListSeparator)),
	}
}

// stop closes the server's stdin and waits for its end.
func (c *child) stop() error {
	err := c.client.Close()
	if ended := c.command.Wait(); ended != nil && err == nil {
		err = fault.New(fault.EngineOffline, "the server ended with an error: %w", ended)
	}
	return err
}
