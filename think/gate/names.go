package gate

import (
	"slices"
	"strings"
)

// Tool is what the gate knows of one of the server's own tools.
type Tool struct {
	Name string
	// ReadOnly: the tool changes nothing, as its annotation in the registry says.
	ReadOnly bool
}

// Own is what the gate knows of the server's own tools.
type Own struct {
	// Prefixes are what the client puts before their names.
	Prefixes []string
	// Tools are those of the registry, or nil where nobody has asked it. Without them the
	// tools that move a run on are known, and none that only reads.
	Tools []Tool
}

// Name returns the name that one of the tools has on the server.
func (o Own) Name(tool string) (name string, ours bool) {
	for _, prefix := range o.Prefixes {
		if rest, found := strings.CutPrefix(tool, prefix); found && rest != "" {
			return rest, true
		}
	}
	return "", false
}

// readOnly reports whether a client's tool is one of the server's that only read.
func (o Own) readOnly(tool string) bool {
	own, _ := o.Name(tool)
	return slices.ContainsFunc(o.Tools, func(each Tool) bool { return each.ReadOnly && dotted(each.Name) == dotted(own) })
}

// ofThink returns the name of a tool of Think, where a client's tool is one.
func (o Own) ofThink(tool string) (name string, is bool) {
	own, ours := o.Name(tool)
	if !ours {
		return "", false
	}
	if name, prefix, steps := Stepping(own); steps && prefix == "" {
		return name, true
	}
	at := slices.IndexFunc(o.Tools, func(each Tool) bool {
		return strings.HasPrefix(each.Name, thinkPrefix) && (own == each.Name || own == underscored(each.Name))
	})
	if at < 0 {
		return "", false
	}
	return o.Tools[at].Name, true
}

// thinkPrefix begins the names of Think's tools.
const thinkPrefix = "think."

const (
	planning   = thinkPrefix + "plan"
	continuing = thinkPrefix + "next"
	resetting  = thinkPrefix + "reset"
	explaining = thinkPrefix + "explain"
	reading    = thinkPrefix + "state.get"
)

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// Stepping recognizes a tool that moves a run on under a client's name, such as
// mcp__savant__think_plan. It returns the tool's own name and the client's prefix for
// this server.
func Stepping(tool string) (name, prefix string, ok bool) {
	return ofClient(tool, planning, continuing, resetting)
}

// Meaning is Stepping for all tools that mean a run of their caller where they name none.
func Meaning(tool string) (name, prefix string, ok bool) {
	return ofClient(tool, planning, continuing, resetting, explaining, reading)
}

// ofClient returns which of some tools a client calls, and its prefix.
func ofClient(tool string, names ...string) (name, prefix string, ok bool) {
	for _, each := range names {
		for _, spelt := range []string{each, underscored(each)} {
			prefix, found := strings.CutSuffix(tool, spelt)
			if found && (prefix == "" || !alphanumeric(prefix[len(prefix)-1])) {
				return each, prefix, true
			}
		}
	}
	return "", "", false
}

// Plans reports whether the call of a tool that moves a run on starts one.
func Plans(name string) bool { return name == planning }

// elsewhere are prefixes that clients use for the tools of every server.
var elsewhere = []string{"mcp__", "mcp_", unnamed, "@"}

// unnamed is the prefix of a client that does not say which server a tool is of.
const unnamed = "MCP:"

// spellings returns a tool's name as a workflow may write it: without what the client
// puts before it.
func (o Own) spellings(tool string) []string {
	found := []string{tool}
	if name, ours := o.Name(tool); ours {
		found = append(found, name)
	}
	for _, prefix := range elsewhere {
		if rest, ok := strings.CutPrefix(tool, prefix); ok && rest != "" {
			return append(found, rest)
		}
	}
	return found
}

// Named reports whether a client's tool is the one that a workflow calls by a name. If the
// client does not say which server a tool is of, it may be of the one that the call names.
func (o Own) Named(tool, call string) bool {
	if own, is := strings.CutPrefix(tool, unnamed); is {
		if _, short, has := strings.Cut(call, "."); has && dotted(own) == dotted(short) {
			return true
		}
	}
	return slices.ContainsFunc(o.spellings(tool), func(each string) bool { return dotted(each) == dotted(call) })
}

// Serves reports whether a client's tool is of the server that a workflow's call names.
func Serves(tool, call string) bool {
	server, _, _ := strings.Cut(call, ".")
	return strings.Contains("."+dotted(tool), "."+dotted(server)+".")
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
