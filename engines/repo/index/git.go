package index

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// gitSettings silence what a repository's own configuration could make git
// run; listing files runs nothing else. They win over every configuration file.
var gitSettings = []string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
	"-c", "protocol.allow=never", "-c", "submodule.recurse=false", "-c", "safe.bareRepository=explicit"}

// gitPassed are the only variables git gets of this process: GIT_DIR and the
// like must not be among them. gitFixed: no prompt, no lock, no fetch.
var (
	gitPassed = []string{"PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "SYSTEMROOT"}
	gitFixed  = []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_LITERAL_PATHSPECS=1"}
)

// gitGrace is how long git may take to end once it was told to.
const gitGrace = 2 * time.Second

// errNotGit says that git has nothing to say of a folder.
var errNotGit = errors.New("not a git repository")

// gitLines runs git and returns what it prints, each up to a NUL; errNotGit
// where git is missing, fails or finds no repository.
func gitLines(ctx context.Context, program, folder string, arguments ...string) ([]string, error) {
	command := exec.CommandContext(ctx, program, append(gitSettings[:len(gitSettings):len(gitSettings)], arguments...)...)
	command.Dir, command.WaitDelay = folder, gitGrace
	command.Env = append([]string{}, gitFixed...)
	for _, name := range gitPassed {
		if value, set := os.LookupEnv(name); set {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	stdout, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, errors.Join(errNotGit, ctx.Err())
	}
	lines, cut := readLines(stdout)
	if cut {
		_ = command.Process.Kill() // it has said enough
	}
	if err := command.Wait(); err != nil && !cut {
		return nil, errors.Join(errNotGit, ctx.Err())
	}
	return lines, ctx.Err()
}

// readLines reads what ends in NUL, at most maxFiles times.
func readLines(from io.Reader) (lines []string, cut bool) {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 1<<20)
	scanner.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		if end := bytes.IndexByte(data, 0); end >= 0 {
			return end + 1, data[:end], nil
		}
		return 0, nil, nil
	})
	for scanner.Scan() {
		if len(lines) == maxFiles {
			return lines, true
		}
		lines = append(lines, scanner.Text())
	}
	return lines, scanner.Err() != nil
}

// gitListing lists the files git knows or would add, and the folders it ignores.
func gitListing(ctx context.Context, program, folder string) (files []string, ignored map[string]bool, err error) {
	type answer struct {
		paths []string
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		paths, err := gitLines(ctx, program, folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
		answers <- answer{paths, err}
	}()
	files, err = gitLines(ctx, program, folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	other := <-answers
	if err = errors.Join(err, other.err); err != nil {
		return nil, nil, err
	}
	ignored = map[string]bool{}
	for _, each := range other.paths {
		if name, isFolder := strings.CutSuffix(each, "/"); isFolder {
			ignored[name] = true
		}
	}
	return files, ignored, nil
}
