package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/rules"
)

// session is a history that a test adds calls to.
type session struct {
	set     *rules.Set
	history *rules.History
}

func newSession(set *rules.Set) *session { return &session{set, rules.NewHistory(set)} }

func (s *session) made(tool string, input map[string]any, result any) {
	s.history.Settle(s.history.Reserve(rules.Call{Tool: tool, Input: input}), rules.Succeeded, result, "receipt")
}

func (s *session) decide(tool string, input map[string]any) rules.Verdict {
	return rules.Decide(s.set, s.history, rules.Call{Tool: tool, Input: input})
}

func parsed(t *testing.T, lines ...string) *rules.Set {
	t.Helper()
	file, err := rules.Parse("rules/r.yaml", []byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	return rules.New(file)
}

type object = map[string]any

func TestARefusalTeaches(t *testing.T) {
	s := newSession(bank(t))
	s.made("bank.login", object{"user": "ann"}, true)
	s.made("bank.get_score", object{"user": "ann"}, 300)
	verdict := s.decide("bank.apply_card", object{"user": "ann", "limit": 5})
	require.Equal(t, strings.Join([]string{
		"bank.apply_card was not called. Rule card (rules/bank.yaml:12) is not met.",
		"  login  held        bank.login #1",
		"  score  NOT MET     bank.get_score #2 gave 300; needed: > 600 (only another call of bank.get_score can help)",
		"  date   MISSING     call clock.now {} first",
		"Next: clock.now {}."}, "\n"), verdict.Text())

	wire, err := json.Marshal(verdict.Fault())
	require.NoError(t, err)
	var data struct {
		Error   string
		Missing []rules.Suggestion
		Rules   []rules.Summary
	}
	require.NoError(t, json.Unmarshal(wire, &data))
	require.Equal(t, string(fault.RuleRefused), data.Error)
	require.Equal(t, []rules.Suggestion{{Tool: "clock.now", Input: object{}}}, data.Missing)
	require.Equal(t, "card", data.Rules[0].Rule)
	require.Equal(t, rules.NotMet, data.Rules[0].Parts[1].State)

	any := newSession(parsed(t, "rules: [{id: r, before: a.b, require: \"any(calls['a.c'], true) and input.x > 1\"}]"))
	require.NotContains(t, any.decide("a.b", object{"x": 1}).Text(), "final", "a call of a.c may help")
	any.made("a.c", object{}, true)
	require.Contains(t, any.decide("a.b", object{"x": 1}).Text(), "input.x > 1: found 1, needed: > 1 (final for these arguments)")

	require.Contains(t, s.decide("bank.apply_card", object{"user": "bob", "limit": 5}).Text(), `call bank.login {"user":"bob"} first`)
	s.made("bank.logout", object{}, true)
	require.Contains(t, s.decide("bank.apply_card", object{"user": "ann", "limit": 5}).Text(), "bank.login #1 was before the last bank.logout")
}

// TestTheNamedCallHelps makes the call that a refusal names; then the refused call passes.
func TestTheNamedCallHelps(t *testing.T) {
	evidence := `evidence: {order: {last: orders.get, where: {order: input.order}, if: "result.n > 0"}}`
	for condition, input := range map[string]object{
		`{needs: order}`:          {"order": "A"},
		`"order != nil"`:          {"order": "A"},
		`"not (order == nil)"`:    {"order": "A"},
		`"order?.result?.n == 1"`: {"order": "A"},
		`"input.to endsWith '@shop' or order?.result?.n == 1"`:                                               {"order": "A"},
		`"any(calls['orders.get'], .input.order == input.order)"`:                                            {"order": "A"},
		`"count(calls['orders.get'], .input.order == input.order) >= 1"`:                                     {"order": "A"},
		`"let o = findLast(calls['orders.get'], .input.order == input.order); o != nil and o.result.n == 1"`: {"order": "A"},
		`"len(calls['orders.get']) > 0"`:                                                                     {},
		`"1 in map(calls['orders.get'], .result.n)"`:                                                         {},
	} {
		s := newSession(parsed(t, evidence, "rules: [{id: r, before: a.b, require: "+condition+"}]"))
		s.history.Settle(s.history.Reserve(rules.Call{Tool: "orders.get", Input: input}), rules.Failed, nil, "")
		call := object{"order": "A", "to": "x"}
		verdict := s.decide("a.b", call)
		require.Equal(t, []rules.Suggestion{{Tool: "orders.get", Input: input}}, verdict.Missing(), condition)
		require.Equal(t, strings.Contains(condition, " or "), strings.Contains(verdict.Text(), "final"), condition)
		s.made("orders.get", input, object{"n": 1})
		require.Equal(t, rules.Allow, s.decide("a.b", call).Decision, condition)
	}
	// What nothing helps names no call.
	for condition, text := range map[string]string{
		`"input.to == 'y'"`: "(final for these arguments)", `"none(calls['orders.get'], .input.order == input.order)"`: " is false",
		`"order == nil"`: "(final for these arguments)",
	} {
		s := newSession(parsed(t, evidence, "rules: [{id: r, before: a.b, require: "+condition+"}]"))
		s.made("orders.get", object{"order": "A"}, object{"n": 1})
		verdict := s.decide("a.b", object{"order": "A", "to": "x"})
		require.Empty(t, verdict.Missing(), condition)
		require.Contains(t, verdict.Text(), text, condition)
	}
}

// A refusal says of a call that was made why it does not count, and of a limit what it counts.
func TestARefusalSaysWhatWasSeen(t *testing.T) {
	s := newSession(parsed(t, "evidence: {order: {last: orders.get, where: {order: input.order}}}", "rules:", "  - {id: seen, before: a.b, require: {needs: order}}",
		"  - {id: few, before: mail.send, at_most: 1, per: input.to, within: 1h}"))
	lost := s.history.Reserve(rules.Call{Tool: "orders.get", Input: object{"order": "A"}})
	require.Contains(t, s.decide("a.b", object{"order": "A"}).Text(), "; orders.get #1 has no known end")
	require.NotContains(t, s.decide("a.b", object{"order": "B"}).Text(), "orders.get #1")
	s.history.Settle(lost, rules.Failed, nil, "")
	require.Contains(t, s.decide("a.b", object{"order": "A"}).Text(), "; orders.get #1 failed")
	s.history.Reserve(rules.Call{Tool: "mail.send", Input: object{"to": "ann"}, Time: 1000})
	verdict := rules.Decide(s.set, s.history, rules.Call{Tool: "mail.send", Input: object{"to": "ann"}, Time: 61_000})
	require.Contains(t, verdict.Text(), "at most 1 for each input.to; the last was mail.send #2, 60 seconds ago of 3600")

	s = newSession(parsed(t, "evidence: {read: {last: vault.read}}", "rules:", "  - {id: quiet, before: a.b, require: \"len(calls['vault.read']) == 0\"}", "  - {id: unread, before: a.b, require: read == nil}",
		"  - {id: few, before: a.b, require: \"len(calls['vault.read']) < 1\"}", "  - {id: other, before: a.b, require: \"5 - len(calls['vault.read']) != 4\"}"))
	made := s.history.Reserve(rules.Call{Tool: "vault.read", Input: object{"path": "a"}})
	text := s.decide("a.b", object{}).Text()
	require.Contains(t, text, `len(calls["vault.read"]) == 0: found 1, needed: == 0`)
	require.Contains(t, text, `len(calls["vault.read"]) < 1: found 1, needed: < 1`)
	require.Contains(t, text, `5 - len(calls["vault.read"]) != 4: found 4, needed: != 4`)
	s.history.Settle(made, rules.Succeeded, "hunter2", "")
	text = s.decide("a.b", object{}).Text()
	require.Contains(t, text, `read == nil: found a call, needed: == null (final for these arguments)`)
	require.NotContains(t, text, "hunter2")
}

// TestAClockThatWasAhead: what was seen while a clock was a year ahead is not fresh for a year,
// and what was done then still counts for a limit.
func TestAClockThatWasAhead(t *testing.T) {
	s := newSession(parsed(t, "evidence: {seen: {last: a.get, within: 1h}}", "rules:", "  - {id: seen, before: a.b, require: {needs: seen}}", "  - {id: few, before: a.c, at_most: 1, within: 1h}"))
	const hour = 3_600_000
	at := func(tool string, time int64) rules.Call { return rules.Call{Tool: tool, Time: time} }
	s.history.Settle(s.history.Reserve(at("a.get", 9000*hour)), rules.Succeeded, nil, "")
	s.history.Settle(s.history.Reserve(at("a.c", 9000*hour)), rules.Succeeded, nil, "")
	for time, decision := range map[int64]rules.Decision{hour: rules.Refuse, 8999 * hour: rules.Refuse, 8999*hour + 1: rules.Allow, 9000 * hour: rules.Allow, 9001*hour - 1: rules.Allow, 9001 * hour: rules.Refuse} {
		require.Equal(t, decision, rules.Decide(s.set, s.history, at("a.b", time)).Decision, time)
	}
	require.Equal(t, rules.Refuse, rules.Decide(s.set, s.history, at("a.c", hour)).Decision)
}

func TestTheThirdEqualRefusalSaysToStop(t *testing.T) {
	s := newSession(bank(t))
	call := rules.Call{Tool: "bank.freeze", Input: object{"user": "ann"}}
	for range 2 {
		require.Contains(t, s.decide(call.Tool, call.Input).Text(), "Next: bank.check_user")
		s.history.Refuse(call)
	}
	require.Contains(t, s.decide(call.Tool, call.Input).Text(), "refused 3 times: stop, and ask a person")
	require.NotContains(t, s.decide(call.Tool, object{"user": "bob"}).Text(), "stop")
}

func TestARefusalIsShortAndKeepsSecrets(t *testing.T) {
	lines := []string{"facts: {code: {value: hunter2, secret: true}}", "evidence: {code: {last: a.code, where: {code: facts.code}}}", "rules:"}
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("  - {id: r%d, before: a.b, require: \"input.code == facts.code\"}", i))
	}
	lines = append(lines, "  - {id: next, before: a.c, require: [{needs: code}]}", "  - {id: wrong, before: a.d, require: \"date(facts.code) > 1\"}",
		"  - {id: ask, before: a.e, approve: \"Is {{ facts.code }} right?\"}", "  - {id: per, before: a.f, at_most: 1, per: \"int(facts.code)\"}")
	s := newSession(parsed(t, lines...))
	for _, tool := range []string{"a.b", "a.c", "a.d", "a.e", "a.f"} {
		verdict := s.decide(tool, object{"code": strings.Repeat("é", 5000)})
		require.NotEqual(t, rules.Allow, verdict.Decision, tool)
		require.LessOrEqual(t, len(verdict.Text()), 600)
		data, err := json.Marshal(verdict.Fault())
		require.NoError(t, err)
		require.NotContains(t, string(data)+verdict.Text()+strings.Join(verdict.Questions(), ""), "hunter2", tool)
	}
}

// A folder can bring a thousand rules with long messages: a refusal stays readable.
func TestManyLongRulesDoNotFloodARefusal(t *testing.T) {
	lines := []string{"rules:"}
	for i := range 900 {
		lines = append(lines, fmt.Sprintf("  - {id: r%d, before: x.y, require: \"input.a == 1\", message: %q}", i, strings.Repeat("m", 1000)))
	}
	verdict := newSession(parsed(t, lines...)).decide("x.y", object{"a": 2})
	wire, err := json.Marshal(verdict.Fault())
	require.NoError(t, err)
	require.Less(t, len(wire), 24<<10)
	require.Contains(t, string(wire), "r49")
}

func TestALongHistoryIsNoBudgetsMatterWhereItIsLookedUp(t *testing.T) {
	s := newSession(parsed(t,
		"evidence: {e: {last: a.get, where: {id: input.id}}}",
		"rules:",
		`  - {id: r, before: a.b, require: [{needs: e}, "none(calls['a.b'], .input.id == input.id and .result == true) and none(calls['a.b'], .input.id == -1) and none(calls['a.b'], .input.id == -2)"]}`,
		`  - {id: all, before: a.c, require: "findLast(calls['a.get'], true) == nil"}`))
	for i := range 110_000 {
		s.made("a.get", object{"id": i, "deep": object{"x": i}}, i)
		s.made("a.b", object{"id": i}, i == 500)
	}
	require.Equal(t, rules.Allow, s.decide("a.b", object{"id": 29_000}).Decision)
	require.Equal(t, rules.Refuse, s.decide("a.b", object{"id": 500}).Decision)
	require.Contains(t, s.decide("a.c", object{"id": -1}).Text(), "HISTORY_TOO_LONG")
}

func TestWhatIsWrongInAFileIsSaidWithItsPlace(t *testing.T) {
	for source, message := range map[string]string{
		"rules: [{id: a, befor: x.y, deny: true}]":                                              `1:17: no key is named "befor" here: did you mean "before"?`,
		"rules: [{id: a, before: x.y, deny: true}, {id: a, before: x.y, deny: true}]":           `two rules have the id "a"`,
		"rules: [{id: a, before: x.y}]":                                                         "demands nothing",
		"rules: [{id: a, befor: x.y, deny: true}, {id: b, before: x.y}]":                        `rule "b" demands nothing`,
		"rules: [{id: a, before: x.y, require: 'input.x = 1'}]":                                 "1:48: unexpected \"=\": use == to compare",
		"rules: [{id: a, before: x.y, require: \"len(calls) > 1\"}]":                            "calls cannot be read as a whole",
		"rules: [{id: a, before: x.y, require: \"now() > 1\"}]":                                 "expressions have no clock",
		"rules: [{id: a, before: x.y, require: \"params.x\"}]":                                  `there is no name "params"`,
		"rules: [{id: a, before: x.y, require: [{needs: lgin}]}]\nevidence: {login: {last: z}}": `there is no evidence "lgin": did you mean "login"?`,
		"rules: [{id: a, before: x.y, require: \"login.rsult\"}]\nevidence: {login: {last: z}}": `did you mean login.result?`,
		"rules: [{id: a, before: x.y, require: \"facts.mx > 1\"}]\nfacts: {max: 1}":             `did you mean facts.max?`,
		"rules: [{id: a, before: mcp__git-hub__push, deny: true}]":                              "write git-hub.push",
		"rules: [{id: a, before: x.y, at_most: 0}]":                                             "at_most is an integer of 1 or more",
		"rules: [{id: a, before: x.y, at_most: 1, within: 1 day}]":                              "within is a time such as",
		"rules: [{id: a, before: x.y, deny: true, per: input.x}]":                               "per belongs to at_most or once",
		"rules: [{id: a, before: x.y, deny: true, mode: wran}]":                                 "mode is warn or enforce",
		"evidence: {calls: {last: z}}\nrules: [{id: a, before: x.y, deny: true}]":               "cannot be used in an expression",
		"name: bank\nrules: [{id: a, before: x.y, deny: true}]":                                 `the name is "bank", and the file is r.yaml`,
		"success: {x: \"result = 1\"}\nrules: [{id: a, before: x.y, deny: true}]":               "1:22: unexpected \"=\"",
		"rules: []":                              "rules needs a list",
		"rules: 5":                               "rules needs a list",
		"rules: [5]":                             "rules[0] is not a map, but integer",
		"rules: [{id: a, before: x.y, when: 5}]": "a condition is text, not integer",
		"rules: [{id: a, before: x.y, require: \"" + strings.Repeat("a", 9000) + "\"}]": "more than 8192 bytes",
		"a: &x 1": "anchors are not part of the language",
	} {
		_, err := rules.Parse("rules/r.yaml", []byte(source))
		require.Error(t, err, source)
		said := ""
		for _, each := range fault.From(err).Diagnostics {
			require.Positive(t, each.Line, source)
			said += fmt.Sprintf("%d:%d: %s\n", each.Line, each.Column, each.Message)
		}
		require.Contains(t, said, message, source)
	}
	long := "rules: [{id: a, before: x.y, require: \"" + strings.Repeat("input.x == 1 or ", 400) + "true\"}]"
	_, err := rules.Parse("rules/r.yaml", []byte(long))
	require.NoError(t, err, "a condition may have 8 KB")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("rules: [{id: a, before: x.y, require: \"any(calls['x.y'], .input.a == input.a)\", once: true}]"))
	f.Add([]byte("evidence: {e: {last: x, where: {a: 1}}}\nrules: [{id: a, before: '*', when: 'e != nil', approve: '{{ input }}?'}]"))
	f.Fuzz(func(t *testing.T, source []byte) {
		file, err := rules.Parse("rules/r.yaml", source)
		if err != nil {
			require.NotEmpty(t, fault.From(err).Diagnostics)
			return
		}
		s := newSession(rules.New(file))
		s.made("x.y", object{"a": 1}, "x")
		verdict := s.decide("x.y", object{"a": 1})
		require.LessOrEqual(t, len(verdict.Text()), 600)
		require.Equal(t, verdict.Text(), s.decide("x.y", object{"a": 1}).Text())
	})
}
