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

// gitPaths runs `git ls-files` and returns what it lists; errNotGit where git
// is missing, fails or finds no repository.
func gitPaths(ctx context.Context, program, folder string, options ...string) ([]string, error) {
	command := exec.CommandContext(ctx, program, append(append(gitSettings[:len(gitSettings):len(gitSettings)], "ls-files", "-z"), options...)...)
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
	paths, cut := readPaths(stdout)
	if cut {
		_ = command.Process.Kill() // it has said enough
	}
	if err := command.Wait(); err != nil && !cut {
		return nil, errors.Join(errNotGit, ctx.Err())
	}
	return paths, ctx.Err()
}

// readPaths reads paths that end in NUL, at most maxFiles of them.
func readPaths(from io.Reader) (paths []string, cut bool) {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 1<<20)
	scanner.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		if end := bytes.IndexByte(data, 0); end >= 0 {
			return end + 1, data[:end], nil
		}
		return 0, nil, nil
	})
	for scanner.Scan() {
		if len(paths) == maxFiles {
			return paths, true
		}
		paths = append(paths, scanner.Text())
	}
	return paths, scanner.Err() != nil
}

// gitListing lists the files git knows or would add, and the folders it ignores.
func gitListing(ctx context.Context, program, folder string) (files []string, ignored map[string]bool, err error) {
	type answer struct {
		paths []string
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		paths, err := gitPaths(ctx, program, folder, "--others", "--ignored", "--exclude-standard", "--directory")
		answers <- answer{paths, err}
	}()
	files, err = gitPaths(ctx, program, folder, "--cached", "--others", "--exclude-standard")
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
