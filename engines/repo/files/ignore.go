package files

import (
	"path"
	"strings"
)

// ignoreFile is the file of a folder's ignore rules.
const ignoreFile = ".gitignore"

// rule is one line of a .gitignore (gitignore(5)).
type rule struct {
	segments   []string // of the pattern, split at slashes
	negated    bool
	foldersToo bool // only folders
	anywhere   bool // the pattern has no slash: it holds at any depth
}

// ruleset holds the rules of one folder and of the folders above.
type ruleset struct {
	above *ruleset
	base  string // the folder with a slash at its end, "" for the root
	rules []rule
}

// parseRules reads a .gitignore.
func parseRules(text string) []rule {
	var rules []rule
	for line := range strings.SplitSeq(text, "\n") {
		if made, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, made)
		}
	}
	return rules
}

func parseRule(line string) (rule, bool) {
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " \t")
	}
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	var made rule
	line, made.negated = strings.CutPrefix(line, "!")
	line, made.foldersToo = strings.CutSuffix(line, "/")
	made.anywhere = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule{}, false
	}
	made.segments = strings.Split(line, "/")
	return made, true
}

// ignores reports whether a path is ignored: the last matching rule decides, and deeper
// folders override higher ones.
func (s *ruleset) ignores(name string, folder bool) bool {
	for ; s != nil; s = s.above {
		within := strings.TrimPrefix(name, s.base)
		for i := len(s.rules) - 1; i >= 0; i-- {
			if s.rules[i].fits(within, folder) {
				return !s.rules[i].negated
			}
		}
	}
	return false
}

func (r rule) fits(name string, folder bool) bool {
	if r.foldersToo && !folder {
		return false
	}
	if r.anywhere {
		return matchSegment(r.segments[0], path.Base(name))
	}
	return matchSegments(r.segments, strings.Split(name, "/"))
}

// matchSegments matches a path against a pattern; ** stands for any number of folders,
// at the end for anything below.
func matchSegments(pattern, segments []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			if len(pattern) == 1 {
				return len(segments) > 0
			}
			for skip := range len(segments) + 1 {
				if matchSegments(pattern[1:], segments[skip:]) {
					return true
				}
			}
			return false
		}
		if len(segments) == 0 || !matchSegment(pattern[0], segments[0]) {
			return false
		}
		pattern, segments = pattern[1:], segments[1:]
	}
	return len(segments) == 0
}

func matchSegment(pattern, name string) bool {
	fits, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return fits && err == nil
}
