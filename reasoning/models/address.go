package models

import (
	"net/url"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
	"savant/internal/redact"
)

var (
	// operation matches the end of a path that names what is asked instead of where.
	operation = pattern.Lazy(`/+(?:chat/completions|completions|responses|messages(?:/count_tokens)?|api/(?:chat|generate|tags|show))/*$|(/v\d+[a-z0-9]*)/+(?:chat|embeddings|models)(?:/[^/]*)?/*$`)
	// version matches the version in a path, twice is once.
	version      = pattern.Lazy(`/v\d+[a-z0-9]*(?:/|$)`)
	hostAlone    = pattern.Lazy(`^(?:localhost|[\w.-]+:\d+|\[[0-9a-fA-F:]+\]:\d+)(?:/|$)`)
	versionTwice = pattern.Lazy(`(/v\d+[a-z0-9]*)(?:/v\d+[a-z0-9]*)+/*$`)
)

// parse understands an address as people paste it: with the path of an operation, with
// its version twice, with one where the client adds it, with a query, in quotation marks, or a
// host with its port and no scheme. The error does not
// quote the address, which may contain a secret.
func (s *service) parse(text string) error {
	text = strings.Trim(text, " \t\r\n\"'`<>")
	if hostAlone().MatchString(text) {
		text = "http://" + text
	}
	address, err := url.Parse(text)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" || address.User != nil {
		setting, _, _ := strings.Cut(s.setting, " ")
		return fault.New(fault.InvalidParams, "%s: expected http://HOST or https://HOST", setting)
	}
	path := operation().ReplaceAllString(address.Path, "$1")
	path = strings.TrimRight(versionTwice().ReplaceAllString(path, "$1"), "/")
	if !s.hasVersion {
		path = strings.TrimSuffix(path, "/v1")
	}
	if !s.hasVersion && !s.needsKey { // Ollama's own operations begin with it
		path = strings.TrimSuffix(path, "/api")
	}
	address.Path, address.RawPath, address.Fragment, address.ForceQuery = path, "", "", false
	s.base = address
	return nil
}

// address returns where an operation is asked.
func (s *service) address(operation string) string {
	s.habits.mu.Lock()
	defer s.habits.mu.Unlock()
	return s.base.JoinPath(s.habits.version, operation).String()
}

// versioned adds /v1 to an address without a version, once, and reports whether it did.
// With added false it takes it away again.
func (s *service) versioned(added bool) bool {
	s.habits.mu.Lock()
	defer s.habits.mu.Unlock()
	if !s.hasVersion || s.base.RawQuery != "" || version().MatchString(s.base.Path) || added == (s.habits.version != "") {
		return false
	}
	s.habits.version = strings.Repeat("/v1", map[bool]int{true: 1}[added])
	return true
}

// noPath is the error of a service that does not have the path: the address that was
// asked, without its query, and the one that is meant.
func (s *service) noPath(operation string, err error) error {
	asked := *s.base.JoinPath(operation)
	asked.RawQuery = ""
	return fault.New(fault.ReasoningUnavailable, "%s does not have POST %s: %s; %s", s.Name(), redact.Shapes().Text(asked.String()),
		fault.From(err).Details, s.setting)
}
