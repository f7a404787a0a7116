package agent

import (
	"path"
	"slices"
	"strings"

	"savant/engines"
	"savant/fault"
)

// validPattern says whether a pattern can match a name.
func validPattern(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && pattern != ""
}

// matches reports whether a pattern matches a tool: by its name in either spelling,
// ignoring case, or by its engine.
func matches(patterns []string, name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = strings.ToLower(pattern)
		return slices.ContainsFunc([]string{name, engines.Underscored(name), engines.EngineOf(name)}, func(spelling string) bool {
			hit, err := path.Match(pattern, spelling)
			return err == nil && hit
		})
	})
}

// spellings returns the readings of a pattern: verbatim, and in the forms in which
// clients write names of MCP tools: ci/run, mcp__savant__ci_run, savant:ci.run.
func spellings(pattern string) []string {
	pattern = strings.TrimSpace(pattern) // --deny "git.*, ci"
	plain := strings.NewReplacer("/", ".", ":", ".").Replace(pattern)
	all := []string{pattern, plain}
	rest := pattern
	for _, prefix := range []string{"mcp__", "mcp_", "mcp."} {
		if after, ok := strings.CutPrefix(strings.ToLower(plain), prefix); ok {
			rest = after
			if _, tool, ok := strings.Cut(after, "__"); ok { // after the server's name, whatever it is
				all = append(all, tool)
			}
			break
		}
	}
	if after, ok := strings.CutPrefix(strings.ToLower(rest), "savant"); ok {
		all = append(all, strings.NewReplacer("/", ".", ":", ".").Replace(strings.TrimLeft(after, "_./:")))
		if strings.Trim(after, "_./:*") == "" { // the whole server
			all = append(all, "*")
		}
	}
	return slices.DeleteFunc(all, func(each string) bool { return !validPattern(each) })
}

// understood normalizes patterns. A pattern that matches no tool and no engine is
// INVALID_PARAMS with the nearest name, because a rule without effect would mislead the
// person who wrote it.
func understood(argument string, patterns []string, tools Toolbox) ([]string, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	names := []string{}
	for _, each := range tools.Tools() {
		names = append(names, each.Name)
	}
	empty := slices.DeleteFunc(tools.Engines(), func(engine string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return engines.EngineOf(name) == engine })
	})
	meant := make([]string, len(patterns))
	for i, each := range patterns {
		read := slices.IndexFunc(spellings(each), func(spelling string) bool { return fits(spelling, names, empty) })
		if read < 0 {
			return nil, noFit(argument, each, append(tools.Engines(), names...))
		}
		meant[i] = spellings(each)[read]
	}
	return meant, nil
}

// fits reports whether a pattern matches a known tool, or may match one of an engine
// whose tools are not known yet.
func fits(pattern string, names, empty []string) bool {
	if slices.ContainsFunc(names, func(name string) bool { return matches([]string{pattern}, name) }) {
		return true
	}
	return slices.ContainsFunc(empty, func(engine string) bool {
		lower := strings.ToLower(pattern)
		begins := strings.HasPrefix(lower, strings.ToLower(engine)+".") || strings.HasPrefix(lower, engines.Underscored(strings.ToLower(engine))+"_")
		return begins || matches([]string{pattern}, engine)
	})
}

func noFit(argument, pattern string, known []string) error {
	shown := fault.Cut(pattern, 60)
	message := "\"" + shown + "\" matches no tool and no engine"
	err := fault.New(fault.InvalidParams, "%s: %s", argument, message).With(fault.Diagnostic{Path: argument, Message: message})
	last := spellings(pattern)
	meant := strings.Trim(last[len(last)-1], "*?.[]_")
	if near := nearestNames(meant, known); len(near) > 0 {
		return err.Hinted(fault.DidYouMean(near[0])).Attach("nearest", near)
	}
	return err
}
