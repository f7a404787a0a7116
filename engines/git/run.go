package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"savant/fault"
)

// settings silence what a repository's own configuration could make git run,
// read or print. They win over every configuration file.
var settings = []string{
	"core.fsmonitor=false",
	"core.hooksPath=/dev/null",
	"core.pager=cat",
	"core.quotePath=false",
	"color.ui=never",
	"protocol.allow=never",
	"log.showSignature=false",
	"status.submoduleSummary=false",
	"submodule.recurse=false",
	"safe.bareRepository=explicit",
}

// passed are the only variables git gets from this process: GIT_DIR,
// GIT_EXTERNAL_DIFF and the like must not be among them.
var passed = []string{"PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "SYSTEMROOT"}

// fixed variables: no prompt, no lock taken, no object fetched, messages and
// dates of one language, paths taken as they are.
var fixed = []string{
	"LC_ALL=C", "TZ=UTC", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
	"GIT_LITERAL_PATHSPECS=1", "GIT_PAGER=cat",
}

// maxComplaint bounds what is kept of git's standard error.
const maxComplaint = 4 << 10

// output is what git printed: at most limit bytes.
type output struct {
	data []byte
	cut  bool
}

// run starts git in a folder and reads at most limit bytes; git is ended when
// there is more, or when ctx ends.
func (e *engine) run(ctx context.Context, folder string, variables []string, limit int, input string, args ...string) (output, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	command := exec.CommandContext(ctx, e.program, withSettings(args)...)
	command.Dir, command.Env = folder, append(environment(), variables...)
	command.Stdin = strings.NewReader(input)
	complaint := &limited{max: maxComplaint}
	command.Stderr = complaint
	command.WaitDelay = 2 * time.Second
	ownGroup(command)
	stdout, err := command.StdoutPipe()
	if err != nil {
		return output{}, fault.From(err)
	}
	if err := command.Start(); err != nil {
		return output{}, notStarted(ctx, err)
	}
	data, readErr := io.ReadAll(io.LimitReader(stdout, int64(limit)+1))
	if len(data) > limit {
		cancel()
		_ = command.Wait() // ended by us: what it says of that means nothing
		return output{data: data[:limit], cut: true}, nil
	}
	if err := errors.Join(command.Wait(), readErr); err != nil {
		return output{}, failed(ctx, err, complaint.String())
	}
	return output{data: data}, nil
}

func withSettings(args []string) []string {
	all := []string{"--no-pager"}
	for _, setting := range settings {
		all = append(all, "-c", setting)
	}
	return append(all, args...)
}

func environment() []string {
	variables := append([]string{}, fixed...)
	for _, name := range passed {
		if value, set := os.LookupEnv(name); set {
			variables = append(variables, name+"="+value)
		}
	}
	return variables
}

func notStarted(ctx context.Context, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return fault.New(fault.EngineOffline, "git is not installed, or not on PATH")
	}
	return failed(ctx, err, "")
}

// complaintError is a failed git with what it wrote on standard error.
type complaintError struct{ text string }

func (c complaintError) Error() string { return c.text }

func failed(ctx context.Context, err error, complaint string) error {
	if cause := context.Cause(ctx); cause != nil {
		return fault.New(fault.ToolFailed, "git was stopped: %w", cause)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fault.From(err)
	}
	return complaintError{complaint}
}

// limited keeps the first bytes written to it.
type limited struct {
	bytes.Buffer
	max int
}

func (l *limited) Write(data []byte) (int, error) {
	if room := l.max - l.Len(); room > 0 {
		l.Buffer.Write(data[:min(room, len(data))])
	}
	return len(data), nil
}
