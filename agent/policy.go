package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"savant/engines"
	"savant/fault"
	"savant/internal/pattern"
)

// Policy says which tools an agent may call. Rules apply to the canonical name of the
// tool, so that another spelling cannot evade them.
type Policy struct {
	// DisableTools denies every tool, DisableContext context.*, DisableSearch
	// every tool that searches. AllowThink permits think.*.
	DisableTools, DisableContext, DisableSearch, AllowThink bool
	// ReadOnly denies every tool that is not annotated as read-only.
	ReadOnly bool
	// Deny denies the tools that match one of its patterns. A non-empty Allow denies the
	// tools that match none of its patterns. A person wrote Allow, so it also approves the
	// destructive tools that it matches.
	Allow, Deny []string
	// Approver is asked whether a destructive call may be made. If it is nil, nobody
	// can be asked, and only tools that Allow names are called.
	Approver engines.Approver
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
	RuleGoalContext    = "goal: no context tools"
	RuleGoalSearch     = "goal: no searching"
	RuleDeny           = "deny"
	RuleAllow          = "allow"
	RuleReadOnly       = "read-only"
	RuleDestructive    = "destructive"
	RuleDryRun         = "dry run"
)

// guard is the policy of one run: the runtime's, the options' and the goal's
// restrictions together.
type guard struct {
	policy Policy
	// unasked are patterns of tools that a person approved in advance.
	unasked []string
	dryRun  bool
	cues    cues
	// declined are the calls that the person declined in this run. They are not asked about
	// again: neither a step's next attempt nor a model that insists wears the person down.
	declined *sync.Map
}

func newGuard(policy Policy, options RunOptions) guard {
	g := guard{dryRun: options.DryRun, cues: cuesOf(options.Goal), unasked: slices.Concat(policy.Allow, options.Approve), declined: &sync.Map{}}
	if options.Typed {
		g.unasked = append(g.unasked, options.Allow...)
	}
	policy.ReadOnly = policy.ReadOnly || options.ReadOnly
	policy.Allow = slices.Concat(policy.Allow, options.Allow)
	policy.Deny = slices.Concat(policy.Deny, options.Deny)
	if policy.Approver == nil && options.asking != nil {
		policy.Approver = options.asking
	}
	g.policy = policy
	return g
}

// order lists the rules that a call is exempt from because somebody ordered it. The
// zero order is a call that the agent decided on, or that a rule or a name in the goal
// selected.
type order struct {
	// words: the restrictions in the goal's words do not apply.
	words bool
	// destructive: no approval is needed.
	destructive bool
}

// orderOf is the order of a forced call.
func (o RunOptions) orderOf(tool string) order {
	given := o.ForceTool != "" || o.Workflow != ""
	// A workflow needs no approval as a whole: the guard checks each of its calls.
	return order{words: given, destructive: given && o.Typed || tool == workflowTool}
}

// allowed returns the tools that the agent may decide to call.
func (g guard) allowed(tools []engines.Tool) []engines.Tool {
	return slices.DeleteFunc(tools, func(t engines.Tool) bool { return g.denies(t, order{}) != "" })
}

// Permit checks nested calls, such as those of a workflow, by the same rules as the
// run's direct calls.
func (g guard) Permit(ctx context.Context, t engines.Tool, args json.RawMessage) error {
	none := order{destructive: t.Name == workflowTool}
	rule := g.denies(t, none)
	if rule == "" && g.dryRun && changes(t) {
		rule = RuleDryRun
	}
	if rule == "" {
		return g.confirm(ctx, t, args, none)
	}
	return ruleError(t.Name, rule)
}

// ruleError is TOOL_DENIED by a rule, without a question to a person.
func ruleError(tool, rule string) error {
	err := deniedError(tool, rule)
	switch rule {
	case RuleAllow:
		err = err.Hinted(fault.Hint{Text: "--allow permits only the tools that it names; --approve " + tool + " forbids nothing"})
	case RuleDestructive:
		err = err.Hinted(fault.Hint{Text: "nobody can be asked here; approve it by name (--approve " + tool + ") or at a terminal"})
	}
	return err
}

// changes reports whether a dry run skips a call.
func changes(t engines.Tool) bool { return !t.ReadOnly || t.OpenWorld }

// find returns the tool of a name in either spelling.
func find(tools []engines.Tool, name string) (engines.Tool, bool) {
	for _, each := range tools {
		if each.Name == name || engines.Underscored(each.Name) == name {
			return each, true
		}
	}
	return engines.Tool{}, false
}

// unknown is UNKNOWN_TOOL with the nearest permitted names.
func (g guard) unknown(name string, tools []engines.Tool) error {
	err := fault.New(fault.UnknownTool, "no tool is named %q", fault.Cut(name, 200))
	if near := nearest(name, g.allowed(tools)); len(near) > 0 {
		err = err.Hinted(fault.DidYouMean(near...)).Attach("nearest", near)
	}
	return err
}

// maxNearest is how many names are suggested for an unknown one.
const maxNearest = 3

// nearest returns the names of tools similar to one.
func nearest(name string, tools []engines.Tool) []string {
	names := make([]string, len(tools))
	for i, each := range tools {
		names[i] = each.Name
	}
	return nearestNames(name, names)
}

// nearestNames returns the name closest in spelling, and names that hold a word of the one
// given.
func nearestNames(name string, names []string) []string {
	found := []string{}
	if best := fault.Nearest(strings.ReplaceAll(name, "_", "."), names); best != "" {
		found = append(found, best)
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("._-/:*?", r) })
	for _, each := range names {
		shares := slices.ContainsFunc(words, func(word string) bool { return len(word) > 2 && strings.Contains(each, word) })
		if shares && !slices.Contains(found, each) && len(found) < maxNearest {
			found = append(found, each)
		}
	}
	return found
}

func deniedError(tool, rule string) *fault.Error {
	return fault.New(fault.ToolDenied, "%s may not be called: %s", tool, rule).Attach("rule", rule)
}

// searching matches the names of tools that search.
var searching = pattern.Lazy(`(^|[._-])(search|grep|find|fts)([._-]|$)`)

// denies returns the first rule that denies a call, or "".
func (g guard) denies(t engines.Tool, o order) string {
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
		{RuleDeny, matches(p.Deny, t.Name)},
		{RuleAllow, len(p.Allow) > 0 && !matches(p.Allow, t.Name)},
		{RuleReadOnly, p.ReadOnly && !t.ReadOnly},
		{RuleGoalTools, g.cues.noTools && !o.words},
		{RuleGoalContext, g.cues.noContext && engine == "context" && !o.words},
		{RuleGoalSearch, g.cues.noSearch && search && !o.words},
		{RuleDestructive, g.asks(t, o) && p.Approver == nil},
	} {
		if each.hit {
			return each.rule
		}
	}
	return ""
}

// asks reports whether a call needs the approval of a person.
func (g guard) asks(t engines.Tool, o order) bool {
	return t.Destructive && !t.ReadOnly && !o.destructive && !matches(g.unasked, t.Name)
}

// confirm asks the person about a destructive call: TOOL_DENIED when the answer
// is no, or was no before.
func (g guard) confirm(ctx context.Context, t engines.Tool, args json.RawMessage, o order) error {
	if !g.asks(t, o) || g.policy.Approver == nil {
		return nil
	}
	call := t.Name + " " + string(args)
	if _, before := g.declined.Load(call); before {
		return deniedError(t.Name, RuleDestructive).Hinted(fault.Hint{Text: "a person declined this very call in this run, and is not asked again"})
	}
	yes, err := g.policy.Approver.Approve(ctx, t.Name, args)
	if err != nil {
		return err
	}
	if !yes {
		g.declined.Store(call, true)
		return deniedError(t.Name, RuleDestructive)
	}
	return nil
}
