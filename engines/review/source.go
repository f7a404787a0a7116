package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
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

// target is what a person asks to review: a commit, or a request. Without either it is
// the current branch, or what is not committed.
type target struct {
	name string // of the commit, for people
	head string
	// from is what head is compared with, if the words say so; last is how many commits
	// before head are meant.
	from, last string
	// A pull or merge request: its project on the forge, the kind of the forge if known,
	// and its number.
	project, kind string
	number        int
}

// requestURL is https://HOST/OWNER/NAME/pull/12 or
// https://HOST/GROUP/…/NAME/-/merge_requests/12.
var requestURL = pattern.Lazy(`https?://[^\s/]+/([^\s?#]+?)(?:/-)?/(pulls?|merge_requests)/(\d+)(?:[^\w-]|$)`)

// parseTarget finds what to review in a name or a sentence: a range, the address or number
// of a pull or merge request, a branch, or nothing for the current branch. Git says what is
// a name. A range, with two dots or three, means the commits of its end since the merge
// base, as on forges. INVALID_PARAMS: a name is unknown, or several are given.
func (e *engine) parseTarget(ctx context.Context, repo, text string) (target, error) {
	if match := requestURL().FindStringSubmatch(text); match != nil {
		return parseAddress(match)
	}
	rest := workingTree().ReplaceAllStringFunc(text, func(match string) string {
		if kinds[strings.TrimSpace(workingTree().FindStringSubmatch(match)[1])] {
			return match
		}
		return " "
	})
	rest = lastCommits().ReplaceAllString(rest, " ")
	words := parseWords(rest, rest != text)
	if rest != text || codeReview().MatchString(text) { // and other words may be about what to look at
		for i := range words {
			words[i].firm = words[i].called
		}
	}
	found, err := e.choose(ctx, repo, words)
	if match := lastCommits().FindStringSubmatch(text); match != nil && found.number == 0 {
		found.head, found.last = cmp.Or(found.head, "HEAD"), cmp.Or(match[1], "1")
	}
	return found, err
}

// sameAs reports whether two targets are the same change.
func (t target) sameAs(other target) bool {
	t.name, other.name = "", ""
	return t == other
}

// title returns a short name of a target.
func (t target) title() string {
	switch {
	case t.number > 0 && t.kind == kindGitLab:
		return fmt.Sprintf("%s!%d", t.project, t.number)
	case t.number > 0 && t.project != "":
		return fmt.Sprintf("%s#%d", t.project, t.number)
	case t.number > 0:
		return fmt.Sprintf("request %d", t.number)
	}
	return t.name
}

// parseAddress returns the request that a match of requestURL names.
func parseAddress(match []string) (target, error) {
	project, err := url.PathUnescape(match[1])
	number, _ := strconv.Atoi(match[3])
	if err != nil || number == 0 {
		return target{}, fault.New(fault.InvalidParams, "target: %q is not the address of a pull or merge request", fault.Cut(match[0], 200))
	}
	kind := kindGitHub
	if match[2] == "merge_requests" {
		kind = kindGitLab
	}
	return target{project: strings.Trim(project, "/"), kind: kind, number: number}, nil
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
	case wanted.last != "":
		base = wanted.head + "~" + wanted.last
	case wanted.from != "":
		base = wanted.from
	}
	switch {
	case wanted.number > 0:
		return e.resolveRequest(ctx, repo, wanted, base)
	case wanted.head != "" && wanted.head != "HEAD":
		return e.against(ctx, repo, wanted.head, base)
	}
	tree, err := e.status(ctx, repo, map[string]any{"limit": 1})
	if err != nil {
		return source{}, err
	}
	switch {
	case tree.Head == "" && (tree.Clean || base != ""):
		return source{}, fault.New(fault.InvalidParams, "repo: nothing was committed yet, and there is no file to review").
			Hinted(fault.Hint{Text: "commit something (git add -A; git commit), or write the files to review"})
	case tree.Clean || base != "":
		return e.against(ctx, repo, tree.Head, base)
	}
	return source{Base: tree.Head}, nil
}

// against compares a commit with its merge base.
func (e *engine) against(ctx context.Context, repo, head, base string) (source, error) {
	if base != "" {
		from, err := e.commit(ctx, repo, "base", base)
		return source{Base: from, Head: head, MergeBase: true}, err
	}
	refs, err := e.refs(ctx, repo, usualBases)
	if err != nil {
		return source{}, err
	}
	for _, each := range refs { // in the order of usualBases
		if each.Commit != head {
			return source{Base: each.Commit, Head: head, MergeBase: true}, nil
		}
	}
	none := fault.New(fault.InvalidParams, "base: nothing to compare with was found: there is no main or master that differs")
	if _, err := e.commit(ctx, repo, "base", "main"); errors.Is(err, fault.InvalidParams) { // it says what the clone lacks
		none = none.Hinted(fault.From(err).Hint)
	}
	return source{}, none.Hinted(fault.Hint{Text: "name a base, or a range such as main...HEAD"})
}

// resolveRequest finds a pull or merge request: its head if it was fetched from the
// project, else on the forge.
func (e *engine) resolveRequest(ctx context.Context, repo string, wanted target, base string) (source, error) {
	foreign := ""
	tree, err := e.status(ctx, repo, map[string]any{"limit": 1, "refs": refsOf(wanted.number), "remotes": true})
	if err != nil {
		return source{}, err
	}
	for _, each := range tree.Refs { // in the order of refsOf
		if !tree.Remotes.mayHave(each.Ref, wanted.project) {
			foreign = each.Ref
			continue
		}
		found, err := e.against(ctx, repo, each.Commit, base)
		found.Kind, found.Project, found.Number = wanted.kind, wanted.project, wanted.number
		if wanted.project == "" {
			found.Kind, found.Project = kindOf(each.Ref), tree.Remotes.project(each.Ref)
		}
		return found, err
	}
	return e.resolveForge(ctx, wanted, foreign)
}

// status is what git.status says of a repository.
type status struct {
	Head      string
	Clean     bool
	Truncated bool // Files is not whole
	Files     []struct{ Path, Worktree string }
	Refs      []ref
	Remotes   remotes
}

// ref is a branch, a remote branch or a tag, as git.status finds it by a name.
type ref struct{ Asked, Ref, Commit string }

// remotes are the remotes of a repository.
type remotes []remote

type remote struct{ Name, URL string }

func (e *engine) status(ctx context.Context, repo string, args map[string]any) (tree status, err error) {
	err = e.call(ctx, "git.status", inRepo(repo, args), &tree)
	return tree, err
}

// refs returns the refs that names can mean, in the order of the names, the nearest first.
func (e *engine) refs(ctx context.Context, repo string, names []string) ([]ref, error) {
	tree, err := e.status(ctx, repo, map[string]any{"limit": 1, "refs": names})
	return tree.Refs, err
}

// mayHave reports whether a ref can come from a project: a remote-tracking ref from its
// own remote, any other from some remote. Without a project or a remote, or where a
// remote is a path, it cannot be told, so it may.
func (r remotes) mayHave(ref, project string) bool {
	return project == "" || len(r) == 0 || slices.ContainsFunc(r.from(ref), func(each remote) bool { return each.isPath() || each.names(project) })
}

// from returns the remotes that a ref can come from.
func (r remotes) from(ref string) remotes {
	name, _, _ := strings.Cut(strings.TrimPrefix(ref, "refs/remotes/"), "/")
	if i := slices.IndexFunc(r, func(each remote) bool { return each.Name == name }); i >= 0 && strings.HasPrefix(ref, "refs/remotes/") {
		return r[i : i+1]
	}
	return r
}

// project returns the project of the only remote that a ref can come from, or "".
func (r remotes) project(ref string) string {
	from := r.from(ref)
	if len(from) != 1 || from[0].isPath() {
		return ""
	}
	_, path, _ := strings.Cut(from[0].URL, ":")
	if address, err := url.Parse(from[0].URL); err == nil && address.Host != "" {
		path = address.Path
	}
	return strings.Trim(strings.TrimSuffix(strings.TrimRight(path, "/"), ".git"), "/")
}

// kindOf returns the kind of forge whose heads of requests are called like a ref, or "".
func kindOf(ref string) string {
	switch {
	case strings.Contains(ref, "/merge-requests/"):
		return kindGitLab
	case strings.Contains(ref, "/pull/"):
		return kindGitHub
	}
	return ""
}

func (r remote) isPath() bool {
	return !strings.Contains(r.URL, ":") || strings.HasPrefix(r.URL, "file:")
}

// names reports whether the address of a remote ends in the path of a project.
func (r remote) names(project string) bool {
	path := strings.TrimSuffix(strings.TrimRight(strings.ToLower(r.URL), "/"), ".git")
	return strings.HasSuffix(strings.ReplaceAll(path, ":", "/"), "/"+strings.ToLower(project))
}

// commit returns the hash of a commit; INVALID_PARAMS if it does not exist.
func (e *engine) commit(ctx context.Context, repo, argument, name string) (string, error) {
	var found struct {
		Commits []struct{ Hash string }
	}
	err := e.call(ctx, "git.log", inRepo(repo, map[string]any{"ref": name, "limit": 1}), &found)
	switch {
	case err != nil && !errors.Is(err, fault.InvalidParams):
		return "", err
	case err != nil: // git.log calls the argument ref
		failure := fault.From(err)
		return "", fault.New(fault.InvalidParams, "%s%s", argument, strings.TrimPrefix(failure.Details, "ref")).Hinted(failure.Hint)
	case len(found.Commits) == 0:
		return "", fault.New(fault.InvalidParams, "%s: there is no commit %s yet", argument, fault.Cut(name, 200))
	}
	return found.Commits[0].Hash, nil
}

func inRepo(repo string, args map[string]any) map[string]any {
	if repo != "" {
		args["repo"] = repo
	}
	return args
}
