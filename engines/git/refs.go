package git

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"savant/fault"
)

// ref is a branch, a remote branch or a tag. Asked is the name that a caller asked for,
// Ref the full one: refs/heads/main. Commit is the hash that it leads to.
type ref struct {
	Asked  string `json:"asked"`
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

// refs returns the refs that names can mean: for each name the branches first, then the
// remote branches, then the tags. A remote branch is also found without its remote.
func (r *repository) refs(ctx context.Context, names []string) ([]ref, error) {
	found := []ref{}
	wanted := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name == "" || name == "HEAD" || len(name) > maxRevision // HEAD is not that of a remote
	})
	if len(wanted) == 0 {
		return found, nil
	}
	out, err := r.run(ctx, "", slices.Concat([]string{"show-ref", "--dereference", "--"}, wanted)...)
	if isExitError(err) {
		return found, nil // there is none
	}
	if err != nil {
		return nil, err
	}
	commits := map[string]string{}
	for line := range strings.Lines(string(out.Data)) {
		if hash, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			commits[strings.TrimSuffix(name, "^{}")] = hash // what a tag leads to follows the tag
		}
	}
	for _, asked := range wanted {
		start := len(found)
		for name, commit := range commits {
			if rankOf(name, asked) < len(namespaces) {
				found = append(found, ref{asked, name, commit})
			}
		}
		slices.SortFunc(found[start:], func(a, b ref) int {
			return cmp.Or(cmp.Compare(rankOf(a.Ref, asked), rankOf(b.Ref, asked)), strings.Compare(a.Ref, b.Ref))
		})
	}
	return found, nil
}

// nearest returns the commit of the first of some refs. Several that are equally near and
// lead to different commits are INVALID_PARAMS.
func nearest(argument string, refs []ref, err error) (string, error) {
	if err != nil {
		return "", err
	}
	fits := slices.DeleteFunc(slices.Clone(refs), func(each ref) bool { return rankOf(each.Ref, each.Asked) > rankOf(refs[0].Ref, refs[0].Asked) })
	if !slices.ContainsFunc(fits, func(each ref) bool { return each.Commit != fits[0].Commit }) {
		return fits[0].Commit, nil
	}
	var names []string
	for _, each := range fits {
		names = append(names, each.Ref)
	}
	return "", fault.New(fault.InvalidParams, "%s: several fit: %s", argument, fault.Cut(strings.Join(names, ", "), 500)).Hinted(fault.Hint{Text: "name one in full"})
}

// namespaces are where refs are looked up by a name, the nearest first.
var namespaces = []string{"refs/heads/", "refs/remotes/", "refs/tags/", "refs/", ""}

// rankOf returns the index of the namespace in which a ref has a name; the number of
// namespaces if it has another name.
func rankOf(full, name string) int {
	for i, each := range namespaces {
		rest, inside := strings.CutPrefix(full, each)
		if inside && (rest == name || each == "refs/remotes/" && strings.HasSuffix(rest, "/"+name) && strings.Count(rest, "/") == strings.Count(name, "/")+1) {
			return i
		}
	}
	return len(namespaces)
}
