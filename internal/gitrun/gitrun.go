// Package gitrun runs git safely on untrusted repositories: git runs no program from a
// repository's configuration, writes nothing, fetches nothing and does not prompt, and
// its output is bounded.
package gitrun

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/regular"
)

// settings disable what a repository's configuration could make git run, read or print.
// They override every configuration file.
var settings = []string{
	"core.fsmonitor=false",
	"core.hooksPath=/dev/null",
	"core.pager=cat",
	"core.quotePath=false",
	"color.ui=never",
	"protocol.allow=never",
	"log.showSignature=false",
	"log.mailmap=false",
	"i18n.logOutputEncoding=UTF-8",
	"status.submoduleSummary=false",
	"submodule.recurse=false",
	"safe.bareRepository=explicit",
}

// maxMemory bounds what git may allocate, in bytes. Of a repository it holds what a folder
// brings, such as the rules in .gitignore files of any size. GIT_ALLOC_LIMIT bounds one
// piece from git's first instruction on.
const maxMemory = 512 << 20

// passed are, with PATH, the only environment variables git inherits. GIT_DIR, GIT_EXTERNAL_DIFF
// and similar ones must not be among them.
var passed = []string{"HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "SYSTEMROOT"}

// fixed variables: no prompts, no locks, no fetching of objects, untranslated messages
// and dates, literal paths.
var fixed = []string{
	"LC_ALL=C", "TZ=UTC", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
	"GIT_LITERAL_PATHSPECS=1", "GIT_PAGER=cat", "GIT_ALLOC_LIMIT=" + strconv.Itoa(maxMemory),
}

const (
	// maxComplaint bounds the stored part of git's standard error, in bytes.
	maxComplaint = 4 << 10
	// grace is how long git's output may stay open after git was killed.
	grace = 2 * time.Second
)

// Command is one call of git.
type Command struct {
	// Folder is the working folder of the call.
	Folder string
	// Project is the folder that brings the repository, if it is another one: neither git
	// itself nor the person's settings of it are taken from there.
	Project string
	// Variables are added to git's environment, as NAME=value.
	Variables []string
	// Settings are further git settings, as name=value.
	Settings []string
	// Input is git's standard input.
	Input string
	// Limit bounds the output in bytes; git is killed beyond it.
	Limit int
	// Args are the arguments, the subcommand first.
	Args []string
}

// Output is git's output, at most Limit bytes. Cut says that there was more.
type Output struct {
	Data []byte
	Cut  bool
	// Remarks are what git wrote on its standard error, cut.
	Remarks string
}

// Records returns the parts of the output that end in NUL. It omits the part after the
// last NUL, which may be incomplete in a cut output.
func (o Output) Records() []string {
	all := strings.Split(string(o.Data), "\x00")
	return all[:len(all)-1]
}

// Run runs git to its end. Errors are ENGINE_OFFLINE (git is not installed),
// TOOL_DENIED (the repository belongs to another user), TOOL_FAILED (ctx ended, or git
// waits for a pipe), and a Complaint if git itself failed.
func Run(ctx context.Context, c Command) (Output, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	process, err := c.process(ctx)
	if err != nil {
		return Output{}, c.notStarted(ctx, err)
	}
	complaint := &limited{max: maxComplaint}
	process.Stderr = complaint
	stdout, err := process.StdoutPipe()
	if err != nil {
		return Output{}, fault.From(err)
	}
	if err := process.Start(); err != nil {
		return Output{}, c.notStarted(ctx, err)
	}
	limitMemory(process.Process.Pid)
	go endWaiting(ctx, c.Folder, cancel)
	data, readErr := io.ReadAll(io.LimitReader(stdout, int64(c.Limit)+1))
	if len(data) > c.Limit {
		cancel(nil)
		_ = process.Wait() // killed by us: its exit code means nothing
		return Output{Data: data[:c.Limit], Cut: true}, nil
	}
	if err := errors.Join(process.Wait(), readErr); err != nil {
		return Output{}, failed(ctx, err, complaint.kept.String())
	}
	return Output{Data: data, Remarks: complaint.kept.String()}, nil
}

func (c Command) process(ctx context.Context) (*exec.Cmd, error) {
	path := regular.SearchPath(c.Folder, c.Project)
	program, err := regular.Program(path, "git")
	if err != nil {
		return nil, err
	}
	args := []string{"--no-pager"}
	for _, each := range [][]string{settings, c.Settings} {
		for _, setting := range each {
			args = append(args, "-c", setting)
		}
	}
	process := exec.CommandContext(ctx, program, append(args, c.Args...)...)
	process.Dir, process.Stdin, process.WaitDelay = c.Folder, strings.NewReader(c.Input), grace
	process.Env = append([]string{"PATH=" + path}, fixed...)
	for _, name := range passed {
		if value, set := os.LookupEnv(name); set {
			process.Env = append(process.Env, name+"="+value)
		}
	}
	if broughtSettings(c.Folder) || c.Project != "" && broughtSettings(c.Project) {
		process.Env = append(process.Env, "GIT_CONFIG_GLOBAL="+os.DevNull)
	}
	process.Env = append(process.Env, c.Variables...)
	ownGroup(process)
	return process, nil
}

// broughtSettings reports whether the person's own settings of git are in the repository,
// as where the home folder is. They name programs, which a clone must not.
func broughtSettings(folder string) bool {
	home := os.Getenv("HOME")
	users := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	return regular.Controls(folder, filepath.Join(home, ".gitconfig")) || regular.Controls(folder, filepath.Join(users, "git", "config"))
}

// limited keeps the first bytes written to it. The buffer is not embedded, because
// io.Copy would then call its ReadFrom, which has no limit.
type limited struct {
	kept bytes.Buffer
	max  int
}

func (l *limited) Write(data []byte) (int, error) {
	l.kept.Write(data[:min(l.max-l.kept.Len(), len(data))])
	return len(data), nil
}
