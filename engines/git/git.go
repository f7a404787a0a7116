// Package git is the engine git.*. It reads repositories through the git program and
// never changes them. A caller's text never reaches a shell and is never an option.
// Nothing outside the allowed roots is read, no program in a repository's own
// configuration is run, and every answer is bounded.
package git

import (
	"time"

	"savant/engines"
	"savant/internal/withheld"
)

// Bounds of one call: the output of git, and the time.
const (
	maxBytes = 256 << 10
	timeout  = time.Minute
)

// Options say where repositories may be.
type Options struct {
	// Roots are the folders that must contain the repositories, after resolving
	// symbolic links. A relative repo is looked up in the first. Empty means the
	// working folder.
	Roots []string
	// Untrusted are folders in the settings that no person has accepted as roots, with
	// the TRUST_REQUIRED of each.
	Untrusted map[string]error
	// Withheld are the files whose content is never shown, in any version.
	Withheld withheld.Files
}

// Tools returns the engine's tools, all read-only. Their errors are INVALID_PARAMS (no
// such folder, commit or path), TRUST_REQUIRED, TOOL_DENIED (a repository or its data
// outside the roots, or a file that may hold secrets), ENGINE_OFFLINE (git is not
// installed), TOOL_TIMEOUT and TOOL_FAILED (an error of git, or a folder that was moved
// or cannot be entered).
func Tools(options Options) []engines.Tool {
	e := newEngine(options)
	tools := []engines.Tool{
		engines.BindReading("git.status", "Git status", e.status,
			"Branch, upstream and changed files of a git repository, untracked ones included."),
		engines.BindReading("git.log", "Git log", e.log,
			"Commits of a git repository, newest first, with author, date and message; of some paths, or after some commit, if asked."),
		engines.BindReading("git.diff", "Git diff", e.diff,
			"Changes between two states of a git repository, as one patch per file. By default the working tree against HEAD; "+
				"from alone compares the working tree with that commit, from and to two commits, to alone a commit with its first parent, "+
				"staged the index. Untracked files are not part of it: git.status lists them."),
		engines.BindReading("git.show", "Git show", e.show,
			"One commit of a git repository: its message and its changes against its first parent; a first commit is all additions."),
		engines.BindReading("git.blame", "Git blame", e.blame,
			"For each line of a file in a git repository, the commit, author and date that last changed it."),
		engines.BindReading("git.files", "Git files", e.files,
			"Paths of the files a git repository holds, now or at a commit; ignored files are left out."),
	}
	for i := range tools {
		tools[i].Timeout = timeout
	}
	return tools
}

type engine struct {
	roots   []string
	waiting map[string]error
	kept    withheld.Files
}

func newEngine(options Options) *engine {
	e := &engine{roots: options.Roots, waiting: options.Untrusted, kept: options.Withheld}
	if len(e.roots) == 0 {
		e.roots = []string{"."}
	}
	return e
}
