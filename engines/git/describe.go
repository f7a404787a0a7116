package git

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Description is what a question to a model says of a repository.
type Description struct {
	// Branch is empty when HEAD is detached, Head where nothing was committed yet.
	Branch, Head string
	// Branches are the names of the 1,000 newest branches, those of remotes also without their
	// remote.
	Branches []string
	// Files are the first 10,000 paths of the index.
	Files []string
	// Recent are the paths that the last ten commits changed, the newest commit first.
	Recent []string
}

// Describe describes the repository of the first root, without a look at its working
// tree. Its errors are those of the tools: INVALID_PARAMS where there is no repository.
func Describe(ctx context.Context, options Options) (Description, error) {
	r, err := newEngine(options).open(ctx, "")
	if err != nil {
		return Description{}, err
	}
	var description Description
	var asking sync.WaitGroup
	asking.Go(func() {
		var list fileList
		list, err = r.files(ctx, filesIn{Limit: 10_000})
		description.Files = list.Files
	})
	asking.Go(func() {
		recent, _ := r.log(ctx, logIn{Limit: 10, Files: true}) // it fails before the first commit
		for i, each := range recent.Commits {
			if i == 0 {
				description.Head = each.Hash
			}
			for _, path := range each.Files {
				if !slices.Contains(description.Recent, path) {
					description.Recent = append(description.Recent, path)
				}
			}
		}
	})
	asking.Go(func() {
		branch, _ := r.run(ctx, "", "symbolic-ref", "--quiet", "HEAD") // it fails when HEAD is detached
		description.Branch = strings.TrimPrefix(strings.TrimSpace(string(branch.Data)), "refs/heads/")
	})
	asking.Go(func() {
		refs, _ := r.run(ctx, "", "for-each-ref", "--count=1000", "--sort=-committerdate", "--format=%(refname)", "refs/heads", "refs/remotes")
		for ref := range strings.FieldsSeq(string(refs.Data)) {
			name, local := strings.CutPrefix(ref, "refs/heads/")
			if name = strings.TrimPrefix(name, "refs/remotes/"); !local {
				description.Branches = append(description.Branches, name[strings.Index(name, "/")+1:])
			}
			description.Branches = append(description.Branches, name)
		}
	})
	asking.Wait()
	return description, err
}
