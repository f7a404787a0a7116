package agent

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/internal/pattern"
)

// Policy says which tools an agent may call. Rules look at the canonical name
// of the tool that would be called, so no spelling gets around them.
type Policy struct {
	// DisableTools denies every tool, DisableContext context.*, DisableSearch
	// every tool that searches. AllowThink permits think.*.
	DisableTools, DisableContext, DisableSearch, AllowThink bool
	// ReadOnly denies what is not annotated as reading only.
	ReadOnly bool
	// Allow are patterns, one of which a tool must fit; none: all do. A tool
	// that fits a pattern of Deny is denied.
	Allow, Deny []string
	// Confirm asks the person whether a destructive call may be made; nil:
	// nobody can be asked, and only tools that Allow names are called.
	Confirm func(ctx context.Context, tool string, args json.RawMessage) (bool, error)
}

// The rules, as they are named in events and errors.
const (
	RuleAgent          = "agent.*"
	RuleState          = "state"
	RuleDisableTools   = "AGENT_DISABLE_TOOLS"
	RuleDisableContext = "AGENT_DISABLE_CONTEXT_TOOLS"
	RuleDisableSearch  = "AGENT_DISABLE_SEARCH_TOOLS"
	RuleThink          = "AGENT_ALLOW_THINK_TOOLS"
	RuleGoalTools      = "goal: no tools"
	RuleGoalSearch     = "goal: no searching"
	RuleDeny           = "deny"
	RuleAllow          = "allow"
	RuleReadOnly       = "read-only"
	RuleDestructive    = "destructive"
)

// guard is a toolbox under a policy, for one run.
type guard struct {
	box    Toolbox
	policy Policy
	cues   cues
	// calls says whether the state of the run allows calls now.
	calls func() bool
	// forced is a tool that the person asks for by name or by the rules: it is
	// held neither against the words of the goal nor asked about. forcing says
	// whether its time is now.
	forced  string
	forcing func() bool
}

// Tools implements Toolbox: what is denied is not offered.
func (g *guard) Tools() []engines.Tool {
	return slices.DeleteFunc(g.box.Tools(), func(t engines.Tool) bool { return g.denies(t) != "" })
}

// Invoke implements Toolbox.
func (g *guard) Invoke(ctx context.Context, name string, args json.RawMessage) (engines.Result, error) {
	meant, known := find(g.box.Tools(), name)
	if !known {
		return engines.Result{}, g.unknown(name)
	}
	rule := g.denies(meant)
	if rule == "" && !g.calls() {
		rule = RuleState
	}
	if rule != "" {
		return engines.Result{}, denied(meant.Name, rule)
	}
	if err := g.confirm(ctx, meant, args); err != nil {
		return engines.Result{}, err
	}
	return g.box.Invoke(ctx, meant.Name, args)
}

// find returns the tool of a name in either spelling.
func find(tools []engines.Tool, name string) (engines.Tool, bool) {
	for _, each := range tools {
		if each.Name == name || engines.Underscored(each.Name) == name {
			return each, true
		}
	}
	return engines.Tool{}, false
}

// unknown is UNKNOWN_TOOL with the nearest of what may be called.
func (g *guard) unknown(name string) error {
	var names []string
	for _, each := range g.Tools() {
		names = append(names, each.Name)
	}
	err := fault.New(fault.UnknownTool, "no tool is named %q", fault.Cut(name, 200))
	if near := nearest(name, names); len(near) > 0 {
		err.Details += "; did you mean " + strings.Join(near, " or ") + "?"
		_ = err.Attach("nearest", near)
	}
	return err
}

// maxNearest is how many names are offered for one that nobody has.
const maxNearest = 3

// nearest returns names that are close in spelling, else those that share the
// engine or the last word.
func nearest(name string, names []string) []string {
	near := []string{}
	if best := fault.Nearest(strings.ReplaceAll(name, "_", "."), names); best != "" {
		near = append(near, best)
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("._-/:", r) })
	for _, each := range names {
		shares := slices.ContainsFunc(words, func(word string) bool { return len(word) > 2 && strings.Contains(each, word) })
		if shares && !slices.Contains(near, each) && len(near) < maxNearest {
			near = append(near, each)
		}
	}
	return near
}

func denied(tool, rule string) *fault.Error {
	return fault.New(fault.ToolDenied, "%s may not be called: %s", tool, rule).Attach("rule", rule)
}

// searching is what the name of a tool that searches holds.
var searching = pattern.Lazy(`(^|[._-])(search|grep|find|fts)([._-]|$)`)

// denies returns the rule that keeps a tool from being called, or "".
func (g *guard) denies(t engines.Tool) string {
	engine := engines.EngineOf(t.Name)
	p, search, free := g.policy, searching().MatchString(t.Name), t.Name == g.forced && g.forcing()
	for _, each := range []struct {
		rule string
		hit  bool
	}{
		{RuleAgent, engine == "agent"},
		{RuleDisableTools, p.DisableTools},
		{RuleDisableContext, p.DisableContext && engine == "context"},
		{RuleDisableSearch, p.DisableSearch && search},
		{RuleThink, !p.AllowThink && engine == "think"},
		{RuleDeny, matches(folded(p.Deny), strings.ToLower(t.Name))},
		{RuleAllow, len(p.Allow) > 0 && !matches(p.Allow, t.Name)},
		{RuleReadOnly, p.ReadOnly && !t.ReadOnly},
		{RuleGoalTools, g.cues.noTools && !free},
		{RuleGoalSearch, g.cues.noSearch && search && !free},
		{RuleDestructive, t.Destructive && !t.ReadOnly && p.Confirm == nil && !matches(p.Allow, t.Name) && !free},
	} {
		if each.hit {
			return each.rule
		}
	}
	return ""
}

// confirm asks the person about a destructive call.
func (g *guard) confirm(ctx context.Context, t engines.Tool, args json.RawMessage) error {
	if t.Name == g.forced && g.forcing() || !t.Destructive || t.ReadOnly || g.policy.Confirm == nil || matches(g.policy.Allow, t.Name) {
		return nil
	}
	yes, err := g.policy.Confirm(ctx, t.Name, args)
	if err != nil {
		return err
	}
	if !yes {
		return denied(t.Name, RuleDestructive)
	}
	return nil
}

// validPattern says whether a pattern can fit a name.
func validPattern(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && pattern != ""
}

// matches says whether a name in either spelling fits one of the patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		dotted, err := path.Match(pattern, name)
		underscored, _ := path.Match(pattern, engines.Underscored(name))
		return err == nil && (dotted || underscored)
	})
}

// folded are patterns in small letters: who writes GIT.* means to deny git.*,
// and would not learn that it fits nothing.
func folded(patterns []string) []string {
	small := make([]string, len(patterns))
	for i, each := range patterns {
		small[i] = strings.ToLower(each)
	}
	return small
}

// cues are what the words of a goal ask of the policy.
type cues struct{ noTools, noSearch bool }

var (
	noToolsCue = pattern.Lazy(`(?i)\b(do not|don't|dont|never|without) (use |using |call |calling )?(any of )?(any |the |your |these )?tools?\b|\bno tools?\b`)
	// Only the way of working is meant: "a page without search" is a subject.
	noSearchCue = pattern.Lazy(`(?i)\b(do not|don't|dont|never) search\b|\b(without|no) searching\b`)
)

// cuesOf reads a goal as people write it: its lines may be wrapped, and its
// apostrophes typographic.
func cuesOf(goal string) cues {
	goal = strings.ReplaceAll(strings.Join(strings.Fields(goal), " "), "’", "'")
	return cues{noTools: noToolsCue().MatchString(goal), noSearch: noSearchCue().MatchString(goal)}
}
