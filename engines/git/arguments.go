package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"savant/fault"
	"savant/internal/gitrun"
	"savant/internal/pattern"
)

// maxRevision is the maximum length of a commit's name; git's own are shorter.
const maxRevision = 300

// invalid is INVALID_PARAMS for one argument.
func invalid(argument, expected, actual string) *fault.Error {
	return fault.New(fault.InvalidParams, "%s: expected %s, got %q", argument, expected, fault.Cut(actual, 200)).
		With(fault.Diagnostic{Path: argument, Expected: expected, Actual: fault.Cut(actual, 200), Message: "expected " + expected})
}

// commit returns the full hash of a commit by name: a branch counts before a remote
// branch, that before a tag, and a ref before what else git takes for a commit. Other git
// commands get only hashes, so a name cannot be taken for an option. An unknown commit is
// INVALID_PARAMS, and so are several.
func (r *repository) commit(ctx context.Context, argument, name string) (string, error) {
	if name == "" || len(name) > maxRevision || name[0] == '-' || strings.ContainsFunc(name, unicode.IsControl) {
		return "", invalid(argument, "the name of a commit", name)
	}
	if !fullHash().MatchString(name) {
		refs, err := r.refs(ctx, []string{name})
		if err != nil || len(refs) > 0 {
			return nearest(argument, refs, err)
		}
	}
	found, err := r.run(ctx, "", "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if isExitError(err) {
		return "", invalid(argument, "a commit of this repository", name).Hinted(r.incomplete(ctx))
	}
	if err != nil {
		return "", err
	}
	hash := strings.TrimSpace(string(found.Data))
	if !fullHash().MatchString(hash) { // "^HEAD" means all but HEAD
		return "", invalid(argument, "the name of a commit", name)
	}
	return hash, nil
}

var fullHash = pattern.Lazy(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// isExitError reports whether git ran to its end and failed.
func isExitError(err error) bool {
	return errors.Is(err, fault.ToolFailed) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// head returns the hash of HEAD, or "" before the first commit.
func (r *repository) head(ctx context.Context) (string, error) {
	hash, err := r.commit(ctx, "ref", "HEAD")
	if errors.Is(err, fault.InvalidParams) {
		return "", nil
	}
	return hash, err
}

// inTree validates paths relative to the top of the working tree and returns them
// cleaned. Git takes them literally.
func inTree(argument string, paths ...string) ([]string, error) {
	cleaned := make([]string, len(paths))
	for i, each := range paths {
		name := argument
		if argument == "paths" {
			name = fmt.Sprintf("paths[%d]", i)
		}
		slashed := path.Clean(filepath.ToSlash(each))
		if each == "" || strings.ContainsRune(each, 0) || !filepath.IsLocal(filepath.FromSlash(slashed)) {
			return nil, invalid(name, "a path inside the repository, relative to its top", each)
		}
		cleaned[i] = slashed
	}
	return cleaned, nil
}

// absolutePath matches absolute paths in git's messages.
var absolutePath = pattern.Lazy(`(^|[\s'"(=])(/[^\s'":]*)`)

// gitFailed returns TOOL_FAILED with the first lines of git's message. Paths inside the
// root become relative; others are removed.
func gitFailed(complaint *gitrun.Complaint, root string) error {
	if complaint.NotFetched() {
		return fault.New(fault.ToolFailed, "this is a partial clone, and content that this needs was not fetched").
			Hinted(fault.Hint{Text: "git fetch --refetch --no-filter brings all of it"})
	}
	text := strings.TrimSpace(complaint.Text)
	if lines := strings.SplitN(text, "\n", 4); len(lines) == 4 {
		text = strings.Join(lines[:3], "\n")
	}
	text = absolutePath().ReplaceAllStringFunc(text, func(match string) string {
		at := strings.IndexByte(match, '/')
		if contains(root, match[at:]) {
			return match[:at] + relative(root, match[at:])
		}
		return match[:at] + "…"
	})
	return fault.New(fault.ToolFailed, "%s", fault.Cut(cmp.Or(text, "git failed and gave no reason"), 1000))
}
