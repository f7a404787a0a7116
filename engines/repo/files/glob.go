package files

import (
	"path"
	"slices"
	"strings"

	"savant/fault"
)

// maxGlob is the maximum length of a pattern, maxStars that of its "**": each can
// double the work.
const (
	maxGlob  = 512
	maxStars = 4
)

// Glob is a pattern for paths: * and ? stay within a name, ** matches any folders. A
// pattern without a slash matches names at any depth; one that matches a folder matches
// everything below it.
type Glob struct {
	segments []string
	anywhere bool
}

// ParseGlobs parses patterns; a malformed one is INVALID_PARAMS.
func ParseGlobs(patterns []string) ([]Glob, error) {
	var globs []Glob
	for _, pattern := range patterns {
		given := pattern
		pattern = strings.Trim(strings.TrimPrefix(strings.TrimSpace(pattern), "./"), "/")
		if pattern == "" || pattern == "." {
			pattern = "**"
		}
		_, err := path.Match(pattern, "")
		if err != nil || len(pattern) > maxGlob || strings.Count(pattern, "**") > maxStars {
			return nil, fault.New(fault.InvalidParams, "paths: %q is not a pattern: expected folders or globs such as src or **/*.go", fault.Cut(given, 100)).
				With(fault.Diagnostic{Path: "paths", Message: "not a pattern"})
		}
		segments := strings.Split(pattern, "/")
		if slices.Contains(segments, "..") {
			return nil, fault.New(fault.InvalidParams, "paths: %q leaves the repository: expected folders or globs below its top", fault.Cut(given, 100)).
				With(fault.Diagnostic{Path: "paths", Message: "leaves the repository"})
		}
		globs = append(globs, Glob{segments: segments, anywhere: len(segments) == 1})
	}
	return globs, nil
}

// Fits reports whether a path, or a folder above it, matches.
func (g Glob) Fits(name string) bool {
	segments := strings.Split(name, "/")
	if g.anywhere {
		return slices.ContainsFunc(segments, func(each string) bool { return g.segments[0] == "**" || matchSegment(g.segments[0], each) })
	}
	for end := len(segments); end > 0; end-- {
		if matchSegments(g.segments, segments[:end]) {
			return true
		}
	}
	return false
}
