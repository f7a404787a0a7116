package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
)

// source identifies a change for all calls of a review.
type source struct {
	// Base and Head are commits; Head is empty for the working tree. MergeBase: the
	// change begins where Head branched off from Base.
	Base      string `json:"base,omitempty"`
	Head      string `json:"head,omitempty"`
	MergeBase bool   `json:"merge_base,omitempty"`
	// Forge is the engine of the forge that has the change; empty if it is in the
	// repository. Project and Number identify the request there. Kind is github or
	// gitlab, if the address of the request says so.
	Forge   string `json:"forge,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Project string `json:"project,omitempty"`
	Number  int    `json:"number,omitempty"`
}

// The kinds of forges, which differ in the tools of their servers.
const (
	kindGitHub = "github"
	kindGitLab = "gitlab"
)

// fixed reports whether the change is immutable.
func (s source) fixed() bool { return s.Head != "" }

// target is what a person asks to review.
type target struct {
	from, to string // of a range
	branch   string
	project  string // of a forge: owner/name, or a path of groups
	kind     string // of a forge, if known
	number   int    // of a pull or merge request
}

var (
	requestURL    = pattern.Lazy(`https?://[^\s/]+/\S+?/(?:pull|pulls|merge_requests)/\d+\S*`)
	requestNumber = pattern.Lazy(`(?i)(?:^|\s)(?:(?:pull request|merge request|pull|pr|mr)\s*[#!]?\s*|[#!])(\d+)\b|^\s*(\d{1,9})\s*$`)
	commitRange   = pattern.Lazy(`(?:^|\s)([\w./@{}~^-]*?[\w}~^])\.{2,3}([\w./@{}~^-]+)?(?:\s|$)`)
	branchAfter   = pattern.Lazy(`(?i)\b(?:branch|commit|tag)\s+([\w./-]*\w)`)
	branchBefore  = pattern.Lazy(`(?i)(?:^|\s)(\S*\w)\s+branch\b`)
	oneWord       = pattern.Lazy(`^\s*([\w./@{}~^-]+)\s*$`)
)

// parseTarget parses what to review, a name or a sentence: a range, the address or
// number of a pull request, a branch, or nothing for the current branch. A range, with
// two dots or three, means the commits of its end since the merge base, as on forges. One
// word that is none of these is INVALID_PARAMS.
func parseTarget(text string) (target, error) {
	if address := requestURL().FindString(text); address != "" {
		return parseAddress(address)
	}
	if match := commitRange().FindStringSubmatch(text); match != nil {
		return target{from: match[1], to: cmp.Or(match[2], "HEAD")}, nil
	}
	if match := requestNumber().FindStringSubmatch(text); match != nil {
		number, err := strconv.Atoi(match[1] + match[2])
		if err != nil {
			return target{}, fault.New(fault.InvalidParams, "target: %s is too large for the number of a pull or merge request", fault.Cut(match[1], 200))
		}
		return target{number: number}, nil
	}
	for _, expression := range []func() *regexp.Regexp{branchAfter, branchBefore, oneWord} {
		match := expression().FindStringSubmatch(text)
		if match == nil {
			continue
		}
		name := strings.Join(match[1:], "")
		if name == "HEAD" || slices.Contains(pronouns, strings.ToLower(name)) {
			return target{}, nil
		}
		return target{branch: name}, nil
	}
	if words := strings.Fields(text); len(words) == 1 {
		return target{}, fault.New(fault.InvalidParams, "target: %q is no branch, range, number or address of a pull or merge request", fault.Cut(words[0], 200))
	}
	return target{}, nil
}

// pronouns before "branch" mean the current branch.
var pronouns = []string{"this", "my", "the", "our", "current"}

// parseAddress parses https://HOST/OWNER/NAME/pull/12 and
// https://HOST/GROUP/…/NAME/-/merge_requests/12.
func parseAddress(text string) (target, error) {
	address, err := url.Parse(text)
	if err != nil {
		return target{}, fault.New(fault.InvalidParams, "target: %w", err)
	}
	parts := strings.Split(strings.Trim(address.Path, "/"), "/")
	at := slices.IndexFunc(parts, func(part string) bool { return part == "pull" || part == "pulls" || part == "merge_requests" })
	number := 0
	if at > 0 && at+1 < len(parts) {
		number, _ = strconv.Atoi(parts[at+1])
	}
	project := strings.TrimSuffix(strings.Join(parts[:max(at, 0)], "/"), "/-")
	if number == 0 || project == "" {
		return target{}, fault.New(fault.InvalidParams, "target: %q is not the address of a pull or merge request", fault.Cut(text, 200))
	}
	kind := kindGitHub
	if parts[at] == "merge_requests" {
		kind = kindGitLab
	}
	return target{project: project, kind: kind, number: number}, nil
}

// The usual names of a branch's base, most likely first.
var usualBases = []string{"origin/HEAD", "origin/main", "main", "origin/master", "master", "origin/develop", "develop", "trunk"}

// refsOf are the refs of the head of a pull or merge request, by convention of git
// hosts.
func refsOf(number int) []string {
	var names []string
	for _, form := range []string{"refs/pull/%d/head", "refs/remotes/origin/pull/%d/head", "refs/remotes/origin/pull/%d", "refs/remotes/origin/pr/%d", "refs/remotes/pr/%d",
		"refs/heads/pr/%d", "refs/heads/pull/%d", "refs/heads/pr-%d", "refs/merge-requests/%d/head", "refs/remotes/origin/merge-requests/%d",
		"refs/remotes/origin/merge-requests/%d/head", "refs/heads/mr/%d", "refs/heads/mr-%d"} {
		names = append(names, fmt.Sprintf(form, number))
	}
	return names
}

// resolve finds the change of a target. base is what to compare with, "" for the
// default.
func (e *engine) resolve(ctx context.Context, repo string, wanted target, base string) (source, error) {
	switch {
	case wanted.from != "":
		from, err := e.commit(ctx, repo, "target", wanted.from)
		if err != nil {
			return source{}, err
		}
		to, err := e.commit(ctx, repo, "target", wanted.to)
		return source{Base: from, Head: to, MergeBase: true}, err
	case wanted.number > 0:
		return e.resolveRequest(ctx, repo, wanted, base)
	case wanted.branch != "":
		head, err := e.commit(ctx, repo, "target", wanted.branch)
		if err != nil {
			return source{}, err
		}
		return e.against(ctx, repo, head, base)
	}
	head, err := e.commit(ctx, repo, "repo", "HEAD")
	if err != nil {
		return source{}, err
	}
	var tree struct {
		Clean bool `json:"clean"`
	}
	if err := e.call(ctx, "git.status", inRepo(repo, map[string]any{"limit": 1}), &tree); err != nil {
		return source{}, err
	}
	if tree.Clean || base != "" {
		return e.against(ctx, repo, head, base)
	}
	return source{Base: head}, nil
}

// against compares a commit with its merge base.
func (e *engine) against(ctx context.Context, repo, head, base string) (source, error) {
	if base != "" {
		from, err := e.commit(ctx, repo, "base", base)
		return source{Base: from, Head: head, MergeBase: true}, err
	}
	for _, name := range usualBases {
		from, err := e.commit(ctx, repo, "base", name)
		switch {
		case errors.Is(err, fault.InvalidParams):
			continue
		case err != nil:
			return source{}, err
		case from != head:
			return source{Base: from, Head: head, MergeBase: true}, nil
		}
	}
	return source{}, fault.New(fault.InvalidParams, "base: nothing to compare with was found: there is no main or master that differs").
		Hinted(fault.Hint{Text: "name a base, or a range such as main...HEAD"})
}

// resolveRequest finds a pull or merge request: its head if it was fetched from the
// project, else on the forge.
func (e *engine) resolveRequest(ctx context.Context, repo string, wanted target, base string) (source, error) {
	var from remotes
	if wanted.project != "" {
		var err error
		if from, err = e.remotes(ctx, repo); err != nil {
			return source{}, err
		}
	}
	foreign := ""
	for _, name := range refsOf(wanted.number) {
		head, err := e.commit(ctx, repo, "target", name)
		switch {
		case errors.Is(err, fault.InvalidParams):
			continue
		case err != nil:
			return source{}, err
		}
		if !from.mayHave(name, wanted.project) {
			foreign = name
			continue
		}
		found, err := e.against(ctx, repo, head, base)
		found.Kind, found.Project, found.Number = wanted.kind, wanted.project, wanted.number
		return found, err
	}
	return e.resolveForge(ctx, wanted, foreign)
}

// remotes are the remotes of a repository, as git.status lists them.
type remotes []remote

type remote struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

func (e *engine) remotes(ctx context.Context, repo string) (remotes, error) {
	var tree struct {
		Remotes remotes `json:"remotes"`
	}
	err := e.call(ctx, "git.status", inRepo(repo, map[string]any{"limit": 1, "remotes": true}), &tree)
	return tree.Remotes, err
}

// mayHave reports whether a ref can come from a project: a remote-tracking ref from its
// own remote, any other from some remote. Without a project or a remote, or where a
// remote is a path, it cannot be told, so it may.
func (r remotes) mayHave(ref, project string) bool {
	from := r
	if tracked, tracks := strings.CutPrefix(ref, "refs/remotes/"); tracks {
		name, _, _ := strings.Cut(tracked, "/")
		if i := slices.IndexFunc(r, func(each remote) bool { return each.Name == name }); i >= 0 {
			from = r[i : i+1]
		}
	}
	return project == "" || len(r) == 0 || slices.ContainsFunc(from, func(each remote) bool { return each.isPath() || each.is(project) })
}

func (r remote) isPath() bool {
	return !strings.Contains(r.URL, ":") || strings.HasPrefix(r.URL, "file:")
}

// is reports whether the address of a remote ends in the path of a project.
func (r remote) is(project string) bool {
	path := strings.TrimSuffix(strings.TrimRight(strings.ToLower(r.URL), "/"), ".git")
	return strings.HasSuffix(strings.ReplaceAll(path, ":", "/"), "/"+strings.ToLower(project))
}

// commit returns the hash of a commit; INVALID_PARAMS if it does not exist.
func (e *engine) commit(ctx context.Context, repo, argument, name string) (string, error) {
	var found struct {
		Commits []struct {
			Hash string `json:"hash"`
		} `json:"commits"`
	}
	if err := e.call(ctx, "git.log", inRepo(repo, map[string]any{"ref": name, "limit": 1}), &found); err != nil {
		return "", err
	}
	if len(found.Commits) == 0 {
		return "", fault.New(fault.InvalidParams, "%s: there is no commit %s", argument, fault.Cut(name, 200))
	}
	return found.Commits[0].Hash, nil
}

func inRepo(repo string, args map[string]any) map[string]any {
	if repo != "" {
		args["repo"] = repo
	}
	return args
}
