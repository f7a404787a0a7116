package git

import (
	"context"
	"net/url"
	"strings"

	"savant/internal/pattern"
)

// remote is a repository that this one fetches from. URL has no user, password or
// query, which may be secret.
type remote struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// remotes lists the remotes in git's order.
func (r *repository) remotes(ctx context.Context) ([]remote, error) {
	out, err := r.run(ctx, "", "remote", "--verbose")
	if err != nil {
		return nil, err
	}
	var found []remote
	for line := range strings.Lines(string(out.Data)) {
		if match := fetchedRemote().FindStringSubmatch(strings.TrimSuffix(line, "\n")); match != nil {
			found = append(found, remote{match[1], publicURL(match[2])})
		}
	}
	return found, nil
}

var (
	// fetchedRemote is a line of `git remote --verbose`; a partial clone says its filter
	// at the end.
	fetchedRemote = pattern.Lazy(`^([^\t]+)\t(.*) \(fetch\)(?: \[.*\])?$`)
	// sshAddress is USER@HOST:PATH.
	sshAddress = pattern.Lazy(`^[^/]*@([^/@:]+:.*)$`)
)

// publicURL removes the user, the password, the query and the fragment of an address.
func publicURL(address string) string {
	if match := sshAddress().FindStringSubmatch(address); match != nil && !hasScheme().MatchString(address) {
		return match[1]
	}
	parsed, err := url.Parse(address)
	switch {
	case err != nil && strings.Contains(address, "@"):
		return ""
	case err != nil || parsed.Scheme == "":
		return address // a path
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path, Opaque: parsed.Opaque}).String()
}

var hasScheme = pattern.Lazy(`^[A-Za-z][A-Za-z0-9+.-]*://`)
