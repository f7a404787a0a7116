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

// Policy says which tools an agent may call. Rules apply to the canonical name of
// the tool, so no spelling gets around them.
type Policy struct {
	// DisableTools denies every tool, DisableContext context.*, DisableSearch
	// every tool that searches. AllowThink permits think.*.
	DisableTools, DisableContext, DisableSearch, AllowThink bool
	// ReadOnly denies what is not annotated as reading only.
	ReadOnly bool
	// A tool that matches a pattern of Deny is denied. If Allow has patterns, a
	// tool that matches none of them is denied, too.
	Allow, Deny []string
	// Confirm asks the person whether a destructive call may be made. If it is
	// nil, nobody can be asked, and only tools that Allow names are called.
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

// guard is the policy of one run: that of the runtime, that of its options, and
// what the words of the goal ask for.
type guard struct {
	policy Policy
	cues   cues
}

func newGuard(policy Policy, options RunOptions) guard {
	policy.ReadOnly = policy.ReadOnly || options.ReadOnly
	policy.Allow = slices.Concat(policy.Allow, options.Allow)
	policy.Deny = slices.Concat(policy.Deny, options.Deny)
	for i, each := range policy.Deny { // someone who denies GIT.* means git.*
		policy.Deny[i] = strings.ToLower(each)
	}
	return guard{policy: policy, cues: cuesOf(options.Goal)}
}

// allowed returns the tools that may be called, or that may be forced.
func (g guard) allowed(tools []engines.Tool, forced bool) []engines.Tool {
	return slices.DeleteFunc(tools, func(t engines.Tool) bool { return g.denies(t, forced) != "" })
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
func (g guard) unknown(name string, tools []engines.Tool, forced bool) error {
	err := fault.New(fault.UnknownTool, "no tool is named %q", fault.Cut(name, 200))
	if near := nearest(name, g.allowed(tools, forced)); len(near) > 0 {
		err = err.Hinted(fault.DidYouMean(near...)).Attach("nearest", near)
	}
	return err
}

// maxNearest is how many names are suggested for an unknown one.
const maxNearest = 3

// nearest returns the name closest in spelling, and names that hold a word of the
// one given.
func nearest(name string, tools []engines.Tool) []string {
	names := make([]string, len(tools))
	for i, each := range tools {
		names[i] = each.Name
	}
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

// searching matches the names of tools that search.
var searching = pattern.Lazy(`(^|[._-])(search|grep|find|fts)([._-]|$)`)

// denies returns the first rule that denies a tool, or "". A forced call, which the
// person ordered by name or by a rule, is not held against the words of the goal,
// and needs no confirmation.
func (g guard) denies(t engines.Tool, forced bool) string {
	engine := engines.EngineOf(t.Name)
	p, search := g.policy, searching().MatchString(t.Name)
	for _, each := range []struct {
		rule string
		hit  bool
	}{
		{RuleAgent, engine == "agent"},
		{RuleDisableTools, p.DisableTools},
		{RuleDisableContext, p.DisableContext && engine == "context"},
		{RuleDisableSearch, p.DisableSearch && search},
		{RuleThink, !p.AllowThink && engine == "think"},
		{RuleDeny, matches(p.Deny, strings.ToLower(t.Name))},
		{RuleAllow, len(p.Allow) > 0 && !matches(p.Allow, t.Name)},
		{RuleReadOnly, p.ReadOnly && !t.ReadOnly},
		{RuleGoalTools, g.cues.noTools && !forced},
		{RuleGoalSearch, g.cues.noSearch && search && !forced},
		{RuleDestructive, t.Destructive && !t.ReadOnly && p.Confirm == nil && !matches(p.Allow, t.Name) && !forced},
	} {
		if each.hit {
			return each.rule
		}
	}
	return ""
}

// confirm asks the person about a destructive call: TOOL_DENIED when the answer
// is no.
func (g guard) confirm(ctx context.Context, t engines.Tool, a asked) error {
	if a.forced || !t.Destructive || t.ReadOnly || g.policy.Confirm == nil || matches(g.policy.Allow, t.Name) {
		return nil
	}
	yes, err := g.policy.Confirm(ctx, t.Name, a.Args)
	if err != nil {
		return err
	}
	if !yes {
		return denied(t.Name, RuleDestructive)
	}
	return nil
}

// validPattern says whether a pattern can match a name.
func validPattern(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && pattern != ""
}

// matches says whether a name in either spelling matches one of the patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		dotted, err := path.Match(pattern, name)
		underscored, _ := path.Match(pattern, engines.Underscored(name))
		return err == nil && (dotted || underscored)
	})
}

// cues are what the words of a goal ask for.
type cues struct{ noTools, noSearch bool }

var (
	noToolsCue = pattern.Lazy(`(?i)\b(do not|don't|dont|never|without) (use |using |call |calling )?(any of )?(any |the |your |these )?tools?\b|\bno tools?\b`)
	// "A page without search" is a subject, not a way of working.
	noSearchCue = pattern.Lazy(`(?i)\b(do not|don't|dont|never) search\b|\b(without|no) searching\b`)
)

// cuesOf reads a goal, whose lines may be wrapped and whose apostrophes may be
// typographic.
func cuesOf(goal string) cues {
	goal = strings.ReplaceAll(strings.Join(strings.Fields(goal), " "), "’", "'")
	return cues{noTools: noToolsCue().MatchString(goal), noSearch: noSearchCue().MatchString(goal)}
}
