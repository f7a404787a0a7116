package gitrun

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"savant/fault"
)

// Complaint is the error of a failed git command, with its standard error.
type Complaint struct{ Text string }

func (c *Complaint) Error() string { return c.Text }

// NoRepository reports whether git found no repository.
func (c *Complaint) NoRepository() bool { return strings.Contains(c.Text, "not a git repository") }

// Bare reports whether git found a repository without a working tree.
func (c *Complaint) Bare() bool {
	return strings.Contains(c.Text, "bare repository") || strings.Contains(c.Text, "must be run in a work tree")
}

// NotFetched reports whether git needs an object that a partial clone left out.
func (c *Complaint) NotFetched() bool { return strings.Contains(c.Text, "promisor remote") }

// notStarted explains why git did not start. The system gives the same error for a
// missing folder and a missing program.
func (c Command) notStarted(ctx context.Context, err error) error {
	if _, missing := os.Stat(c.Folder); missing == nil && (errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist)) {
		return fault.New(fault.EngineOffline, "git is not installed, or not on PATH outside of the folder")
	}
	return failed(ctx, err, "")
}

func failed(ctx context.Context, err error, complaint string) error {
	if cause := context.Cause(ctx); cause != nil {
		return fault.New(fault.ToolFailed, "git was stopped: %w", cause)
	}
	var exit *exec.ExitError
	switch {
	case !errors.As(err, &exit):
		return fault.From(err)
	case strings.Contains(complaint, "dubious ownership"):
		return fault.New(fault.ToolDenied, "the repository belongs to another user; to allow it, add its folder to git's safe.directory")
	case strings.Contains(complaint, "attempting to allocate") || strings.Contains(complaint, "Out of memory") || strings.Contains(complaint, "out of memory"):
		return fault.New(fault.LimitExceeded, "git needs more memory than Savant gives it, for example for a .gitignore of many MB")
	}
	return &Complaint{complaint}
}
