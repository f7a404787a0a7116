package index

import "slices"

// filter says which files a query is about.
type filter struct {
	globs     []glob
	languages []string
}

func newFilter(q Query) (*filter, error) {
	globs, err := parseGlobs(q.Paths)
	if err != nil {
		return nil, err
	}
	made := &filter{globs: globs}
	for _, language := range q.Languages {
		made.languages = append(made.languages, canonical(language))
	}
	return made, nil
}

func (f *filter) fits(path string) bool {
	if len(f.languages) > 0 && !slices.Contains(f.languages, Language(path)) {
		return false
	}
	return len(f.globs) == 0 || slices.ContainsFunc(f.globs, func(g glob) bool { return g.fits(path) })
}
