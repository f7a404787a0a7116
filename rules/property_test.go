package rules_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/internal/jsonvalue"
	"savant/rules"
)

// naive judges by the same rules over a slice of calls, written from the page of the
// language and without anything of the package: no expressions, no indexes.
type naive struct{ calls []call }

// call is one call that was made, or is about to be.
type call struct {
	tool, session string
	key           any // input.key; absent where it is missing
	result        any
	time          int64
	outcome       rules.Outcome
	began, ended  int // among all events
}

type absent struct{}

// The rules of the property: each has its counterpart in naive.
const propertyRules = `
facts: {least: 2}
success: {read: "result != false"}
evidence:
  seen:  {last: read, where: {key: input.key}, if: "result != 0", implied_by: [list], since: write}
  fresh: {last: read, within: 10s}
  any:   {last: check, scope: project, since: [write, "wipe*"]}
rules:
  - {id: seen,  before: [use, list], when: "input?.key != 1", require: [{needs: seen, that: "seen.result >= facts.least or seen.result == nil"}]}
  - {id: fresh, before: use, require: [{needs: fresh}]}
  - {id: any,   before: "wri*", require: [{needs: any}]}
  - {id: never, before: write, require: "none(calls['use'], .input.key == input.key and .at > 0)"}
  - {id: fails, before: check, require: "len(failed['check']) < 2"}
  - {id: count, before: list, require: "count(calls['write'], true) < 3"}
  - {id: once,  before: write, once: "input?.key"}
  - {id: most,  before: [use, check], except: check, at_most: 2, within: 20s}
`

// of returns the calls of a tool that fit.
func (n naive) of(tool string, fits func(call) bool) (found []call) {
	for _, each := range n.calls {
		if matched(tool, each.tool) && fits(each) {
			found = append(found, each)
		}
	}
	slices.SortFunc(found, func(a, b call) int { return a.began - b.began })
	return found
}

func matched(pattern, tool string) bool {
	if prefix, is := strings.CutSuffix(pattern, "*"); is {
		return strings.HasPrefix(tool, prefix)
	}
	return pattern == tool
}

func same(a, b any) bool {
	return a != absent{} && b != absent{} && a != nil && b != nil && fmt.Sprintf("%T %v", a, a) == fmt.Sprintf("%T %v", b, b)
}

// after reports whether a call began after every call of some tools ended, of those that
// did not fail.
func (n naive) after(c call, tools []string, mine func(call) bool) bool {
	for _, tool := range tools {
		for _, each := range n.of(tool, mine) {
			if each.outcome != rules.Failed && (each.ended == 0 || each.ended > c.began) {
				return false
			}
		}
	}
	return true
}

// judge returns the rules that refuse a call, with their states.
func (n naive) judge(c call) []string {
	mine := func(each call) bool { return each.session == c.session }
	good := func(each call) bool { return mine(each) && each.outcome == rules.Succeeded }
	all := func(call) bool { return true }
	var refused []string
	say := func(id string, state rules.State) { refused = append(refused, id+" "+string(state)) }
	if (c.tool == "use" || c.tool == "list") && (c.key == absent{} || c.key != 1) {
		found, broken := n.seen(c, mine, good)
		switch {
		case broken:
			say("seen", rules.NotJudged)
		case found == nil:
			say("seen", rules.Missing)
		case found.result == nil:
		default:
			number, is := found.result.(int)
			if !is {
				say("seen", rules.NotJudged)
			} else if number < 2 {
				say("seen", rules.NotMet)
			}
		}
	}
	if c.tool == "use" {
		if reads := n.of("read", func(e call) bool { return e.outcome == rules.Succeeded }); len(reads) == 0 || reads[len(reads)-1].time <= c.time-10_000 {
			say("fresh", rules.Missing)
		}
	}
	if c.tool == "write" {
		checks := n.of("check", func(e call) bool { return e.outcome == rules.Succeeded })
		if len(checks) == 0 || !n.after(checks[len(checks)-1], []string{"write", "wipe*"}, all) {
			say("any", rules.Missing)
		}
		used := n.of("use", func(e call) bool { return mine(e) && e.outcome != rules.Failed })
		if (c.key == absent{}) && len(used) > 0 {
			say("never", rules.NotJudged)
		} else if len(n.of("use", func(e call) bool { return mine(e) && e.outcome != rules.Failed && equal(e.key, c.key) })) > 0 {
			say("never", rules.NotMet)
		}
		// Without a key the value of per is null, which is a value like another.
		if len(n.of("write", func(e call) bool {
			return mine(e) && e.outcome != rules.Failed && fmt.Sprint(text(e.key)) == fmt.Sprint(text(c.key))
		})) >= 1 {
			say("once", rules.NotMet)
		}
	}
	if c.tool == "check" && len(n.of("check", func(e call) bool { return mine(e) && e.outcome == rules.Failed })) >= 2 {
		say("fails", rules.NotMet)
	}
	if c.tool == "list" && len(n.of("write", func(e call) bool { return mine(e) && e.outcome != rules.Failed })) >= 3 {
		say("count", rules.NotMet)
	}
	if c.tool == "use" && len(n.of("use", func(e call) bool { return e.outcome != rules.Failed && e.time > c.time-20_000 })) >= 2 {
		say("most", rules.NotMet)
	}
	slices.Sort(refused)
	return refused
}

func text(key any) any {
	if (key == absent{}) {
		return nil
	}
	if word, is := key.(string); is {
		return "'" + word
	}
	return key
}

// equal is == of expressions on what two calls have.
func equal(a, b any) bool {
	return a != absent{} && fmt.Sprint(text(a)) == fmt.Sprint(text(b))
}

// seen is the evidence of that name.
func (n naive) seen(c call, mine, good func(call) bool) (found *call, broken bool) {
	if c.key == nil || (c.key == absent{}) {
		return nil, false
	}
	for _, tool := range []string{"read", "list"} {
		calls := n.of(tool, func(e call) bool { return good(e) && same(e.key, c.key) })
		slices.Reverse(calls)
		for _, each := range calls {
			if !n.after(each, []string{"write"}, mine) {
				break
			}
			if tool == "list" || each.result != 0 {
				return &each, false
			}
		}
	}
	return nil, false
}

// event is a call that begins, or the end of one.
type event struct {
	call    rules.Call
	made    int
	ends    bool
	outcome rules.Outcome
	result  any
}

// glance judges a call by the events whose records have one of its traces.
func glance(t *rapid.T, set *rules.Set, events []event, asked rules.Call) rules.Verdict {
	history, made, passed := rules.NewHistory(set), map[int]*rules.Made{}, map[string]int{}
	for _, each := range events {
		if each.ends {
			if made[each.made] != nil {
				history.Settle(made[each.made], each.outcome, each.result, "")
			}
			continue
		}
		line := string(jsonvalue.Encoded(map[string]any{"tool": each.call.Tool, "input": each.call.Input}))
		if !slices.ContainsFunc(set.Traces(asked), func(trace rules.Trace) bool {
			return strings.Contains(line, trace.Tool) && strings.Contains(line, trace.Member)
		}) {
			passed[each.call.Session]++
			continue
		}
		history.Skip(each.call.Session, passed[each.call.Session])
		passed[each.call.Session] = 0
		made[each.made] = history.Reserve(each.call)
	}
	return rules.Decide(set, history, asked)
}

func TestAnotherEvaluatorAgrees(t *testing.T) {
	file, err := rules.Parse("rules/r.yaml", []byte(propertyRules))
	require.NoError(t, err)
	set := rules.New(file)
	met := map[string]bool{}
	if !testing.Short() {
		require.NoError(t, flag.Set("rapid.checks", "5000"))
	}
	rapid.Check(t, func(t *rapid.T) {
		history, other := rules.NewHistory(set), naive{}
		open := map[int]*rules.Made{}
		var events []event
		ordinal, now := 0, int64(0)
		settle := func(at int, outcome rules.Outcome, result any) {
			ordinal++
			events = append(events, event{made: at, ends: true, outcome: outcome, result: result})
			other.calls[at].ended, other.calls[at].result = ordinal, result
			other.calls[at].outcome = outcome
			if outcome == rules.Succeeded && other.calls[at].tool == "read" && result == false {
				other.calls[at].outcome = rules.Failed
			}
			history.Settle(open[at], outcome, result, "")
			delete(open, at)
		}
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			ordinal++
			now += rapid.SampledFrom([]int64{0, 1000, 6000}).Draw(t, "time")
			next := call{tool: rapid.SampledFrom([]string{"read", "list", "use", "write", "check", "wiped", "use", "read"}).Draw(t, "tool"),
				session: rapid.SampledFrom([]string{"one", "one", "two"}).Draw(t, "session"), time: now,
				key: rapid.SampledFrom([]any{1, 2, "2", nil, absent{}, 2}).Draw(t, "key"), began: ordinal}
			asked := rules.Call{Tool: next.tool, Session: next.session, Time: now, Input: map[string]any{}}
			if (next.key != absent{}) {
				asked.Input["key"] = next.key
			}
			verdict := rules.Decide(set, history, asked)
			if brief := glance(t, set, events, asked); brief.Text() != verdict.Text() || brief.Decision != verdict.Decision {
				t.Fatalf("of all calls: %s\nof those with a trace: %s\nafter %v", verdict.Text(), brief.Text(), events)
			}
			var refused []string
			for _, finding := range verdict.Findings {
				for _, part := range finding.Parts {
					if part.State != rules.Held {
						refused = append(refused, finding.Rule.ID+" "+string(part.State))
					}
				}
			}
			slices.Sort(refused)
			refused = slices.Compact(refused)
			for _, each := range refused {
				met[each] = true
			}
			if expected := other.judge(next); !slices.Equal(expected, refused) {
				t.Fatalf("%v: expected %v, found %v: %s\nafter %v", next, expected, refused, verdict.Text(), other.calls)
			}
			if len(refused) > 0 && rapid.IntRange(0, 3).Draw(t, "anyway") > 0 {
				continue
			}
			events = append(events, event{call: asked, made: len(other.calls)})
			other.calls = append(other.calls, next)
			open[len(other.calls)-1] = history.Reserve(asked)
			for at := range len(other.calls) { // some calls end now, others run on
				if open[at] != nil && rapid.Bool().Draw(t, "ends") {
					settle(at, rapid.SampledFrom([]rules.Outcome{rules.Succeeded, rules.Succeeded, rules.Failed, rules.Unknown}).Draw(t, "outcome"),
						rapid.SampledFrom([]any{0, 2, 3, false, nil, "x"}).Draw(t, "result"))
				}
			}
		}
	})
	if testing.Short() { // a few sequences do not meet all
		return
	}
	require.Subset(t, slices.Collect(maps.Keys(met)), []string{"seen missing", "seen not_met", "seen not_judged", "fresh missing", "any missing",
		"never not_met", "never not_judged", "fails not_met", "count not_met", "once not_met", "most not_met"})
}
