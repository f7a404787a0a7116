package index

import (
	"slices"
	"strings"

	"savant/engines/repo/files"
	"savant/fault"
)

// filter restricts a query to some files.
type filter struct {
	globs     []files.Glob
	languages []string
}

// newFilter reads a query's paths and languages. A malformed pattern and an unknown
// language are INVALID_PARAMS.
func newFilter(q Query) (*filter, error) {
	globs, err := files.ParseGlobs(q.Paths)
	if err != nil {
		return nil, err
	}
	made := &filter{globs: globs}
	for _, given := range q.Languages {
		language := files.CanonicalLanguage(given)
		if known := files.Languages(); !slices.Contains(known, language) {
			return nil, fault.New(fault.InvalidParams, "language: %q is not known%s; known are %s",
				fault.Cut(given, 100), fault.NearestHint(", did you mean %s?", language, known), strings.Join(known, ", ")).
				With(fault.Diagnostic{Path: "language", Message: "not known"})
		}
		made.languages = append(made.languages, language)
	}
	return made, nil
}

func (f *filter) fits(path string) bool {
	if len(f.languages) > 0 && !slices.Contains(f.languages, files.Language(path)) {
		return false
	}
	return len(f.globs) == 0 || slices.ContainsFunc(f.globs, func(g files.Glob) bool { return g.Fits(path) })
}
