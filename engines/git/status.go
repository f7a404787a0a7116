package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/gitrun"
)

type statusIn struct {
	Repo  string `json:"repo,omitempty" doc:"Folder in the repository; default: the allowed root."`
	Limit int    `json:"limit,omitempty" min:"1" max:"10000" doc:"Most files to list; default 500."`
	All   bool   `json:"all_untracked,omitempty" doc:"List each file of untracked folders, not the folders."`
	// Remotes asks for the remotes.
	Remotes bool `json:"remotes,omitempty" doc:"Also list the remotes, without users and passwords."`
	// Refs asks which refs names mean.
	Refs []string `json:"refs,omitempty" doc:"Also say which branches, remote branches and tags have these names; a remote branch is found without its remote, too."`
}

// status is the state of a working tree. Branch is empty when HEAD is detached,
// Head where nothing was committed yet.
type status struct {
	Branch    string        `json:"branch"`
	Head      string        `json:"head"`
	Upstream  string        `json:"upstream,omitempty"`
	Ahead     int           `json:"ahead"`
	Behind    int           `json:"behind"`
	Clean     bool          `json:"clean"`
	Files     []changedFile `json:"files"`
	Remotes   []remote      `json:"remotes,omitempty"`
	Refs      []ref         `json:"refs,omitempty"`
	Truncated bool          `json:"truncated"`
	Note      string        `json:"note,omitempty"`
}

// changedFile says how a file differs: index from HEAD, worktree from index.
type changedFile struct {
	submodule   bool   // it is the commit of one
	Path        string `json:"path"`
	Index       string `json:"index,omitempty"`
	Worktree    string `json:"worktree,omitempty"`
	RenamedFrom string `json:"renamed_from,omitempty"`
}

func (e *engine) status(ctx context.Context, in statusIn) (status, error) {
	r, err := e.open(ctx, in.Repo)
	if err != nil {
		return status{}, err
	}
	untracked := "--untracked-files=normal"
	if in.All {
		untracked = "--untracked-files=all"
	}
	large := gitrun.OversizeRules(r.top)
	if large != "" {
		untracked = "--untracked-files=no" // so git does not read it
	}
	look := func() (gitrun.Output, error) {
		return r.run(ctx, "", "status", "--porcelain=v2", "-z", "--branch", "--ahead-behind", untracked, "--ignore-submodules=dirty", "--find-renames")
	}
	out, err := look()
	if large == "" && errors.Is(err, fault.LimitExceeded) { // rules deep in the tree need more than git gets
		large, untracked = "a .gitignore below, or a file of your own settings,", "--untracked-files=no"
		out, err = look()
	}
	if err != nil {
		return status{}, err
	}
	made := parseStatus(out.Records())
	if in.Remotes {
		if made.Remotes, err = r.remotes(ctx); err != nil {
			return status{}, err
		}
	}
	if made.Refs, err = r.refs(ctx, in.Refs); err != nil {
		return status{}, err
	}
	for _, f := range made.Files {
		if f.submodule {
			if err := r.checkSubmodule(ctx, f.Path); err != nil {
				return status{}, err
			}
		}
	}
	made.Clean = len(made.Files) == 0 && !out.Cut && large == ""
	if limit := cmp.Or(in.Limit, 500); len(made.Files) > limit || out.Cut {
		made.Files = made.Files[:min(limit, len(made.Files))]
		made.Truncated, made.Note = true, fmt.Sprintf("only the first %d files are listed", len(made.Files))
	}
	if r.oversize != "" {
		made.Note = strings.TrimPrefix(made.Note+"; ", "; ") + fmt.Sprintf("the file of %s is not applied, because it has more than %d bytes", r.oversize, gitrun.MaxRules)
	}
	if large != "" {
		made.Note = strings.TrimPrefix(made.Note+"; ", "; ") + fmt.Sprintf("untracked files are not listed, and clean is false, because %s has more than %d bytes", large, gitrun.MaxRules)
	}
	return made, nil
}

// parseStatus reads `git status --porcelain=v2 -z --branch`.
func parseStatus(lines []string) status {
	made := status{Files: []changedFile{}}
	for i := 0; i < len(lines); i++ {
		kind, rest, _ := strings.Cut(lines[i], " ")
		switch kind {
		case "#":
			made.header(rest)
		case "1":
			made.add(rest, 7, "")
		case "2": // the path it had before is the next record
			if i++; i < len(lines) {
				made.add(rest, 8, lines[i])
			}
		case "u":
			made.add(rest, 9, "")
		case "?":
			made.Files = append(made.Files, changedFile{Path: rest, Worktree: "untracked"})
		}
	}
	return made
}

func (s *status) header(line string) {
	name, value, _ := strings.Cut(line, " ")
	switch name {
	case "branch.oid":
		if value != "(initial)" {
			s.Head = value
		}
	case "branch.head":
		if value != "(detached)" {
			s.Branch = value
		}
	case "branch.upstream":
		s.Upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		s.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		s.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// add reads a changed file: two letters, other fields, and the path after them.
func (s *status) add(line string, before int, renamedFrom string) {
	fields := strings.SplitN(line, " ", before+1)
	if len(fields) != before+1 || len(fields[0]) != 2 {
		return
	}
	s.Files = append(s.Files, changedFile{Path: fields[before], RenamedFrom: renamedFrom, submodule: strings.HasPrefix(fields[1], "S"),
		Index: stateNames[fields[0][0]], Worktree: stateNames[fields[0][1]]})
}

// stateNames are git's letters, spelled out; other letters have no name.
var stateNames = map[byte]string{'M': "modified", 'T': "type_changed", 'A': "added", 'D': "deleted", 'R': "renamed", 'C': "copied", 'U': "unmerged"}
