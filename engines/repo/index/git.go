package index

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
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

// gitLines runs git on an input and returns what it prints, each up to a NUL, and
// what follows the last of them; errNotGit where git is missing, fails or finds no repository.
func gitLines(ctx context.Context, program, folder, input string, arguments ...string) ([]string, error) {
	command := exec.CommandContext(ctx, program, append(gitSettings[:len(gitSettings):len(gitSettings)], arguments...)...)
	command.Dir, command.Stdin, command.WaitDelay = folder, strings.NewReader(input), gitGrace
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

// readLines reads what ends in NUL, or with the input, at most maxFiles times.
func readLines(from io.Reader) (lines []string, cut bool) {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 1<<20)
	scanner.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		if end := bytes.IndexByte(data, 0); end >= 0 {
			return end + 1, data[:end], nil
		}
		if atEnd && len(data) > 0 {
			return len(data), data, nil
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

// ignored are folders that git says nothing of.
type ignored struct {
	// ruled are those that a rule names; hidden are those in which every file
	// is ruled out, and no file is known.
	ruled, hidden map[string]bool
}

// gitListing lists the files git knows or would add, and the folders it ignores.
// Where core.worktree leads elsewhere git would list that; it has nothing to say
// of the folder then.
func gitListing(ctx context.Context, program, folder string) (files []string, folders ignored, err error) {
	var asking sync.WaitGroup
	var inside []string
	var notInside, notIgnored error
	asking.Go(func() { folders, notIgnored = gitIgnored(ctx, program, folder) })
	asking.Go(func() { inside, notInside = gitLines(ctx, program, folder, "", "rev-parse", "--is-inside-work-tree") })
	files, err = gitLines(ctx, program, folder, "", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	asking.Wait()
	if err = errors.Join(err, notIgnored, notInside); err == nil && !slices.Equal(inside, []string{"true\n"}) {
		return nil, ignored{}, errNotGit
	}
	return files, folders, err
}

// gitIgnored asks twice: ls-files does not tell a folder that is ruled out from
// one in which all files are, where others may appear.
func gitIgnored(ctx context.Context, program, folder string) (ignored, error) {
	found := ignored{map[string]bool{}, map[string]bool{}}
	paths, err := gitLines(ctx, program, folder, "", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return found, err
	}
	var asked strings.Builder
	for _, each := range paths {
		if name, isFolder := strings.CutSuffix(each, "/"); isFolder {
			found.hidden[name] = true
			asked.WriteString(each + "\x00")
		}
	}
	if asked.Len() == 0 {
		return found, nil
	}
	ruled, err := gitLines(ctx, program, folder, asked.String(), "check-ignore", "-z", "--stdin")
	for _, each := range ruled { // the exit code 1 says that there are none
		name := strings.TrimSuffix(each, "/")
		found.ruled[name] = true
		delete(found.hidden, name)
	}
	if errors.Is(err, errNotGit) {
		err = ctx.Err()
	}
	return found, err
}
