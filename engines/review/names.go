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

// lookUp asks git which of some names are those of branches, remote branches and tags. A
// found name leads to the name without its namespace, and with its remote.
func (e *engine) lookUp(ctx context.Context, repo string, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	refs, err := e.refs(ctx, repo, names)
	found := map[string]string{}
	for _, each := range slices.Backward(refs) { // the nearest comes first
		found[each.Asked] = namespace().ReplaceAllString(each.Ref, "")
	}
	return found, err
}

// splitRange returns the sides of a range, as git writes it.
func splitRange(text string) (from, to string, isRange bool) {
	from, to, isRange = strings.Cut(text, "..")
	return cmp.Or(from, "HEAD"), cmp.Or(strings.TrimPrefix(to, "."), "HEAD"), isRange && from+to != "" && from+to != "."
}

// meaning returns the commit, the range or the request that a word names. known are the
// names of refs. INVALID_PARAMS: it names none, or several.
func (e *engine) meaning(ctx context.Context, repo string, w word, known map[string]string) (found target, err error) {
	for _, form := range w.forms {
		err = nil
		from, to, isRange := splitRange(form)
		if isRange {
			found.name = cmp.Or(known[from], from) + "..." + cmp.Or(known[to], to)
			found.from, err = e.commit(ctx, repo, "target", from)
		} else {
			found.name, to = cmp.Or(known[form], form), form
		}
		if err == nil {
			found.head, err = e.commit(ctx, repo, "target", to)
		}
		if err == nil || !errors.Is(err, fault.InvalidParams) || known[form] != "" { // several fit
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
func (e *engine) choose(ctx context.Context, repo string, words []word) (target, error) {
	var names []string
	for _, each := range words {
		names = append(names, each.names()...)
	}
	known, err := e.lookUp(ctx, repo, names)
	if err != nil {
		return target{}, err
	}
	words = slices.DeleteFunc(words, func(each word) bool {
		return !each.firm && !slices.ContainsFunc(each.forms, func(form string) bool { return known[form] != "" })
	})
	var all meanings
	for _, at := range []standing{marked, foreign, unmarked} {
		if at == unmarked && all.missing != nil {
			break
		}
		for _, each := range words {
			if each.standing != at {
				continue
			}
			found, err := e.meaning(ctx, repo, each, known)
			if err != nil && (each.called || !errors.Is(err, fault.InvalidParams)) {
				return target{}, err
			}
			all.add(each, found, err)
		}
		if found, ok, err := all.only(); ok || err != nil {
			return found, err
		}
	}
	return all.none()
}

// meanings are what the words of one standing name, and what they do not.
type meanings struct {
	fits, numbers []target // numbers are digits alone
	base          target
	unknown       []string
	missing       error // of the first unknown word
}

func (m *meanings) add(w word, found target, err error) {
	_, notDigits := strconv.Atoi(w.forms[0])
	switch {
	case err != nil:
		m.unknown, m.missing = append(m.unknown, w.forms[len(w.forms)-1]), cmp.Or(m.missing, err)
	case w.base:
		m.base = found
	case notDigits == nil:
		m.numbers = append(m.numbers, found)
	case !slices.ContainsFunc(m.fits, found.sameAs):
		m.fits = append(m.fits, found)
	}
}

// only returns the only target. A number counts where nothing else fits.
func (m *meanings) only() (found target, ok bool, err error) {
	fits := m.fits
	if len(fits) == 0 {
		fits = m.numbers
	}
	switch len(fits) {
	case 0:
		return target{}, false, nil
	case 1:
		found = fits[0]
		if i := slices.IndexFunc(m.unknown, projectPath().MatchString); found.number > 0 && found.project == "" && i >= 0 {
			found.project = m.unknown[i] // request 12 of owner/name
		}
		found.from = cmp.Or(found.from, m.base.head)
		return found, true, nil
	}
	var titles []string
	for _, each := range fits {
		titles = append(titles, each.title())
	}
	return target{}, false, fault.New(fault.InvalidParams, "target: several fit: %s", fault.Cut(strings.Join(titles, ", "), 500)).Hinted(fault.Hint{Text: "name one of them alone"})
}

// none returns the target of words of which none fits: the current branch, unless one was
// to be a name.
func (m *meanings) none() (target, error) {
	switch {
	case len(m.unknown) > 1:
		return target{}, fault.New(fault.InvalidParams, "target: none of these is a branch, tag, commit or request here: %s", fault.Cut(strings.Join(m.unknown, ", "), 500)).
			Hinted(fault.From(m.missing).Hint)
	case m.missing != nil:
		return target{}, m.missing
	case m.base.head != "":
		return target{from: m.base.head, head: "HEAD", name: m.base.name + "...HEAD"}, nil
	}
	return target{}, nil
}

var (
	projectPath = pattern.Lazy(`^[\w.-]+(?:/[\w.-]+)+$`)
	namespace   = pattern.Lazy(`^refs/(?:heads|remotes|tags)/`)
)
