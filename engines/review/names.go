package review

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
)

// ref is a branch, a remote branch or a tag, as git.status finds it by a name.
type ref struct {
	Asked  string `json:"asked"`
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

// names are the refs that some names can mean, the nearest first.
type names struct {
	engine *engine
	repo   string
	refs   []ref
}

// lookUp asks git what names can mean.
func (e *engine) lookUp(ctx context.Context, repo string, asked ...string) (names, error) {
	found := names{engine: e, repo: repo}
	if len(asked) == 0 {
		return found, nil
	}
	var tree struct {
		Refs []ref `json:"refs"`
	}
	err := e.call(ctx, "git.status", inRepo(repo, map[string]any{"limit": 1, "refs": asked}), &tree)
	found.refs = tree.Refs
	return found, err
}

// short returns the name of a ref without its namespace, and the namespace.
func (r ref) short() (name, namespace string) {
	parts := strings.SplitN(r.Ref, "/", 3)
	if len(parts) < 3 {
		return r.Ref, ""
	}
	return parts[2], parts[1]
}

// commit returns the commit of a name, and the name with the remote that it was found at.
// A branch counts before a remote branch, that before a tag, and a ref before what else
// git takes for a commit. INVALID_PARAMS: there is none, or there are several.
func (n names) commit(ctx context.Context, argument, name string) (commit, shown string, err error) {
	var fits []ref
	for _, each := range n.refs {
		if each.Asked != name {
			continue
		}
		if len(fits) > 0 {
			_, first := fits[0].short()
			if _, namespace := each.short(); namespace != first || each.Commit == fits[0].Commit {
				continue
			}
		}
		fits = append(fits, each)
	}
	switch len(fits) {
	case 0:
		commit, err = n.engine.commit(ctx, n.repo, argument, name)
		return commit, name, err
	case 1:
		shown, _ = fits[0].short()
		return fits[0].Commit, shown, nil
	}
	var all []string
	for _, each := range fits {
		all = append(all, each.Ref)
	}
	return "", "", several(argument, all)
}

// errSeveral is the cause of INVALID_PARAMS for a target that may be several.
var errSeveral = errors.New("several fit")

func several(argument string, all []string) error {
	return fault.New(fault.InvalidParams, "%s: %w: %s", argument, errSeveral, fault.Cut(strings.Join(all, ", "), 500)).
		Hinted(fault.Hint{Text: "name one of them alone, in full"})
}

// splitRange returns the sides of a range, as git writes it.
func splitRange(text string) (from, to string, isRange bool) {
	from, to, isRange = strings.Cut(text, "..")
	return cmp.Or(from, "HEAD"), cmp.Or(strings.TrimPrefix(to, "."), "HEAD"), isRange && from+to != "" && from+to != "."
}

// meaning returns the commit, the range or the request that a word names.
// INVALID_PARAMS: it names none, or several.
func (n names) meaning(ctx context.Context, w word) (found target, err error) {
	for _, form := range w.forms {
		if from, to, isRange := splitRange(form); isRange {
			var base, head string
			if found.from, base, err = n.commit(ctx, "target", from); err == nil {
				found.head, head, err = n.commit(ctx, "target", to)
			}
			found.name = base + "..." + head
		} else if found.head, found.name, err = n.commit(ctx, "target", form); err == nil {
			return found, nil
		}
		if err == nil || !errors.Is(err, fault.InvalidParams) || errors.Is(err, errSeveral) {
			return found, err
		}
	}
	match := requestName().FindStringSubmatch(w.forms[len(w.forms)-1])
	if match == nil {
		return target{}, err
	}
	number, tooLarge := strconv.Atoi(match[3])
	if tooLarge != nil || number == 0 {
		return target{}, fault.New(fault.InvalidParams, "target: %s is not the number of a pull or merge request", fault.Cut(match[3], 200))
	}
	found = target{project: match[1], number: number}
	if match[1] != "" {
		found.kind = map[string]string{"#": kindGitHub, "!": kindGitLab}[match[2]]
	}
	return found, nil
}

// choose returns the target that words name: the one of the first standing that has any.
// A number counts where no other word of its standing does.
func (n names) choose(ctx context.Context, words []word) (target, error) {
	var base target
	var unknown []string
	var missing error
	for _, at := range []standing{marked, foreign, unmarked} {
		if at == unmarked && missing != nil {
			break
		}
		var fits, numbers []target
		for _, each := range words {
			if each.standing != at || !each.firm && !n.has(each) {
				continue
			}
			found, err := n.meaning(ctx, each)
			_, notDigits := strconv.Atoi(each.forms[0])
			switch {
			case err != nil && (each.called || errors.Is(err, errSeveral) || !errors.Is(err, fault.InvalidParams)):
				return target{}, err
			case err != nil:
				unknown, missing = append(unknown, each.forms[len(each.forms)-1]), cmp.Or(missing, err)
			case each.base:
				base = found
			case notDigits == nil:
				numbers = append(numbers, found)
			case !slices.ContainsFunc(fits, found.is):
				fits = append(fits, found)
			}
		}
		if len(fits) == 0 {
			fits = numbers
		}
		switch {
		case len(fits) > 1:
			var all []string
			for _, each := range fits {
				all = append(all, each.title())
			}
			return target{}, several("target", all)
		case len(fits) == 1:
			found := fits[0]
			if i := slices.IndexFunc(unknown, projectPath().MatchString); found.number > 0 && found.project == "" && i >= 0 {
				found.project = unknown[i] // request 12 of owner/name
			}
			found.from = cmp.Or(found.from, base.head)
			return found, nil
		}
	}
	switch {
	case len(unknown) > 1:
		return target{}, fault.New(fault.InvalidParams, "target: none of these is a branch, tag, commit or request here: %s", fault.Cut(strings.Join(unknown, ", "), 500)).
			Hinted(fault.From(missing).Hint)
	case missing != nil:
		return target{}, missing
	case base.head != "":
		base.from, base.head, base.name = base.head, "HEAD", base.name+"...HEAD"
	}
	return base, nil
}

// has reports whether a ref is called like a word.
func (n names) has(w word) bool {
	return slices.ContainsFunc(n.refs, func(each ref) bool { return slices.Contains(w.forms, each.Asked) })
}

var projectPath = pattern.Lazy(`^[\w.-]+(?:/[\w.-]+)+$`)
