package gate

import (
	"slices"
	"strings"
)

// thinkTools are Think's tools.
var thinkTools = []string{"think.plan", "think.next", "think.driver_prompt", "think.explain", "think.reset", "think.workflows.list",
	"think.workflows.read", "think.artifact", "think.state.get", "think.state.list", "think.validate", "think.debug"}

const (
	planning   = "think.plan"
	continuing = "think.next"
	resetting  = "think.reset"
)

// ThinkTool recognizes a tool of Think under a client's name, such as
// mcp__savant__think_plan. It returns the tool's own name and the client's prefix for
// this server.
func ThinkTool(tool string) (name, prefix string, ok bool) {
	for _, each := range thinkTools {
		for _, spelt := range []string{each, strings.ReplaceAll(each, ".", "_")} {
			prefix, found := strings.CutSuffix(tool, spelt)
			if found && (prefix == "" || !alphanumeric(prefix[len(prefix)-1])) {
				return each, prefix, true
			}
		}
	}
	return "", "", false
}

// Plans reports whether the call of a tool of Think starts a run, and Steps whether
// its reply says where a run stands.
func Plans(name string) bool { return name == planning }
func Steps(name string) bool { return name == planning || name == continuing || name == resetting }

// Own returns the name that one of the server's own tools has there, where the client
// puts one of the prefixes before it.
func Own(prefixes []string, tool string) (name string, ok bool) {
	for _, prefix := range prefixes {
		if rest, found := strings.CutPrefix(tool, prefix); found && rest != "" {
			return rest, true
		}
	}
	return "", false
}

// elsewhere are prefixes that clients use for the tools of every server.
var elsewhere = []string{"mcp__", "mcp_", unnamed, "@"}

// unnamed is the prefix of a client that does not say which server a tool is of.
const unnamed = "MCP:"

// spellings returns a tool's name as a workflow may write it: without what the client
// puts before it.
func spellings(prefixes []string, tool string) []string {
	found := []string{tool}
	if own, ok := Own(prefixes, tool); ok {
		found = append(found, own)
	}
	for _, prefix := range elsewhere {
		if rest, ok := strings.CutPrefix(tool, prefix); ok && rest != "" {
			return append(found, rest)
		}
	}
	return found
}

// named reports whether a client's tool is the one that a workflow calls by a name. If the
// client does not say which server a tool is of, it may be of the one that the call names.
func named(prefixes []string, tool, call string) bool {
	if own, is := strings.CutPrefix(tool, unnamed); is {
		if _, short, has := strings.Cut(call, "."); has && dotted(own) == dotted(short) {
			return true
		}
	}
	return slices.ContainsFunc(spellings(prefixes, tool), func(each string) bool { return dotted(each) == dotted(call) })
}

// dotted converts a name to lower case and each run of other characters to a dot,
// because clients replace dots by one or two underscores. At the beginning they count for
// nothing. Stars are kept, for patterns.
func dotted(name string) string {
	var out strings.Builder
	gap := false
	for i := range len(name) {
		c := name[i]
		if !alphanumeric(c) && c != '*' {
			gap = out.Len() > 0
			continue
		}
		if gap {
			out.WriteByte('.')
		}
		gap = false
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out.WriteByte(c)
	}
	if gap {
		out.WriteByte('.')
	}
	return out.String()
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// matches matches a name with a pattern, both dotted. A star matches any characters.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
