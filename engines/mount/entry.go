package mount

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
)

const (
	// defaultTimeout is the default timeout of a call.
	defaultTimeout = 60 * time.Second
	maxTimeout     = 24 * time.Hour
)

// entry is one server as configured in the file.
type entry struct {
	name     string
	kind     string // "type"; empty: the other keys decide
	command  string
	args     []string
	env      map[string]string
	dir      string
	url      string
	headers  map[string]string
	disabled bool
	// allow and deny are glob patterns of the server's own tool names.
	allow, deny []string
	timeout     duration
	// wrong is why the server cannot be mounted, or nil.
	wrong *fault.Error
}

// entries reads the servers of a file: {"mcpServers": {name: {…}}}, or "servers" as in
// VS Code. The error is about the file as a whole; an error of one server is in its
// entry.
func entries(data []byte) ([]entry, error) {
	d, root, err := read(data)
	if err != nil {
		return nil, err
	}
	if !isObject(root) {
		return nil, d.wrong(root.Offset, "", `expected an object {"mcpServers": {…}}`)
	}
	var all []entry
	for _, each := range root.Members {
		switch each.Name {
		case "mcpServers", "servers":
		case "$schema", "inputs":
			continue
		default:
			return nil, d.wrong(each.Offset, each.Name, unknownKey(each.Name, []string{"mcpServers", "servers"}))
		}
		if !isObject(each.Value) {
			return nil, d.wrong(each.Value.Offset, each.Name, "expected an object of servers, by name")
		}
		for _, member := range each.Value.Members {
			all = append(all, d.entry(each.Name, member))
		}
	}
	for i := range all {
		if slices.ContainsFunc(all[:i], func(e entry) bool { return e.name == all[i].name }) {
			return nil, fault.New(fault.InvalidParams, "%s: the server %q appears twice", File, all[i].name)
		}
	}
	return all, nil
}

func unknownKey(key string, known []string) string {
	return fmt.Sprintf("unknown key %q", fault.Cut(key, 60)) + fault.NearestHint(", did you mean %q?", key, known)
}

// ignored are keys of other clients that read the same file.
var ignored = []string{"autoApprove", "alwaysAllow", "trust", "description", "icon", "gallery", "version"}

// entry reads one server and records its first error.
func (d document) entry(group string, member jsonvalue.NodeMember) entry {
	made := entry{name: member.Name, timeout: duration(defaultTimeout)}
	at := group + "." + member.Name
	if !isObject(member.Value) {
		made.wrong = d.wrong(member.Value.Offset, at, "expected an object with command or url")
		return made
	}
	seen := map[string]bool{}
	for _, each := range member.Value.Members {
		key, has := fields[each.Name]
		switch {
		case seen[each.Name]:
			made.fail(d.wrong(each.Offset, at+"."+each.Name, "the key appears twice"))
		case has:
			if !decode(each.Value, key.into(&made)) || key.fits != nil && !key.fits(&made) {
				made.fail(d.wrong(each.Value.Offset, at+"."+each.Name, "expected "+key.expected))
			}
		case !slices.Contains(ignored, each.Name):
			made.fail(d.wrong(each.Offset, at+"."+each.Name, unknownKey(each.Name, slices.Sorted(maps.Keys(fields)))))
		}
		seen[each.Name] = true
	}
	if message := made.complete(); message != "" {
		made.fail(d.wrong(member.Offset, at, message))
	}
	return made
}

func (e *entry) fail(err *fault.Error) {
	if e.wrong == nil {
		e.wrong = err
	}
}

// complete returns what is missing or contradictory, or "".
func (e *entry) complete() string {
	switch {
	case e.command == "" && e.url == "":
		return "expected command or url"
	case e.command != "" && e.url != "":
		return "expected command or url, not both"
	case e.url == "" && e.isHTTP(), e.command == "" && e.kind == "stdio":
		return "type contradicts the other keys"
	case e.url != "" && (e.args != nil || e.env != nil || e.dir != ""):
		return "args, env and cwd are for servers with a command"
	case e.command != "" && e.headers != nil:
		return "headers are for servers with a url"
	}
	return ""
}

// offers reports whether allow and deny permit a tool, by the server's name.
func (e *entry) offers(tool string) bool {
	matches := func(pattern string) bool {
		matched, err := path.Match(pattern, tool)
		return err == nil && matched
	}
	return (e.allow == nil || slices.ContainsFunc(e.allow, matches)) && !slices.ContainsFunc(e.deny, matches)
}
