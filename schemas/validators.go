package schemas

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"savant/fault"
)

// Validator checks a property of texts that JSON Schema cannot express. Its verdict
// depends on the text alone.
type Validator interface {
	// Name is the validator's name in a step's `check:`.
	Name() string
	// Check returns what is wrong with a text, or "".
	Check(text string) string
}

// RepoPath checks the path of a file in a repository: relative, written with slashes,
// and inside it.
type RepoPath struct{}

// Name returns "repo_path".
func (RepoPath) Name() string { return "repo_path" }

// Check says why a text is not a path in a repository, or returns "".
func (RepoPath) Check(text string) string {
	parts := strings.Split(text, "/")
	switch {
	case text == "":
		return "is empty"
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "~"), len(text) > 1 && text[1] == ':':
		return "is not relative to the repository"
	case strings.Contains(text, `\`):
		return "has a backslash: write /"
	case slices.Contains(parts, ".."):
		return "leaves the repository by .."
	case strings.ContainsFunc(text, unicode.IsControl):
		return "has a control character"
	case slices.ContainsFunc(parts, func(part string) bool { return strings.EqualFold(part, ".git") }):
		return "leads into .git"
	case !fs.ValidPath(text):
		return "has an empty part or a part that is ."
	}
	return ""
}

// GitRef checks the name of a branch, a tag or a commit by the rules of
// git check-ref-format.
type GitRef struct{}

// Name returns "git_ref".
func (GitRef) Name() string { return "git_ref" }

// Check says why a text is not a valid ref name, or returns "".
func (GitRef) Check(text string) string {
	switch {
	case text == "":
		return "is empty"
	case text == "@":
		return "is @ alone"
	case strings.HasPrefix(text, "-"):
		return "begins with -, as an option does"
	case strings.HasPrefix(text, "/"), strings.HasSuffix(text, "/"), strings.Contains(text, "//"):
		return "has an extra /"
	case strings.Contains(text, ".."), strings.HasSuffix(text, "."), strings.Contains(text, "@{"):
		return "has .., @{ or a . at the end"
	case strings.ContainsAny(text, " ~^:?*[\\"):
		return "has a space or one of ~ ^ : ? * [ \\"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "has a control character"
	}
	for part := range strings.SplitSeq(text, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return "has a part that begins with . or ends in .lock"
		}
	}
	return ""
}

// builtin are the validators that every Set has, by name.
var builtin = []Validator{GitRef{}, RepoPath{}}

// Validator returns the validator of a name: SCHEMA_NOT_FOUND with the nearest.
func (s *Set) Validator(name string) (Validator, error) {
	var known []string
	for _, each := range builtin {
		if each.Name() == name {
			return each, nil
		}
		known = append(known, each.Name())
	}
	return nil, fault.New(fault.SchemaNotFound, "no check is named %q; %s", fault.Cut(name, 80), cmp.Or(fault.NearestHint("did you mean %q?", name, known), "the checks are "+strings.Join(known, ", ")))
}

// CheckText applies a validator to a text, or to each text of a list. The error is
// VALIDATION_FAILED with a diagnostic, whose pointer begins with at, for each failure.
func CheckText(by Validator, value any, at string) error {
	found := checkText(by, value, at, nil)
	if len(found) == 0 {
		return nil
	}
	return fault.New(fault.ValidationFailed, "the value does not pass %s: %s", by.Name(), found[0].Message).With(found...)
}

func checkText(by Validator, value any, at string, found []fault.Diagnostic) []fault.Diagnostic {
	switch v := value.(type) {
	case string:
		if wrong := by.Check(v); wrong != "" {
			found = append(found, fault.Diagnostic{Pointer: at, Message: shorten(v) + " " + wrong, Expected: by.Name(), Actual: shorten(v)})
		}
	case []any:
		for i, each := range v {
			found = checkText(by, each, fmt.Sprintf("%s/%d", at, i), found)
		}
	default:
		found = append(found, fault.Diagnostic{Pointer: at, Message: "is neither a text nor a list of texts", Expected: by.Name(), Actual: shorten(v)})
	}
	return found
}
