package rules_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/rules"
)

// published is a listing of tools.
type published map[string]rules.Tool

func (p published) Names() []string { return slices.Sorted(maps.Keys(p)) }

func (p published) Tool(name string) (rules.Tool, bool) {
	tool, known := p[name]
	return tool, known
}

// properties returns the schema of an object with some members.
func properties(members string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + members + `},"additionalProperties":false,"required":["order"]}`)
}

var shop = published{
	"orders.get":  {Input: properties(`"order":{"type":"string"}`), Output: properties(`"order":{"type":"string"},"status":{"type":"string"},"total":{"type":"number"}`), ReadOnly: true},
	"orders.drop": {Input: properties(`"order":{"type":"string"}`)},
	"pay.refund":  {Input: properties(`"order":{"type":"string"},"amount":{"type":"number"}`)},
	"pay.credit":  {},
}

func TestCheckFindsWhatCannotBeMeant(t *testing.T) {
	for rule, message := range map[string]string{
		"{id: a, before: pay.refnd, except: pay.refnd, deny: true, when: 'input.x'}":                                                   `warning: nothing publishes "pay.refnd": did you mean "pay.refund"?`,
		"{id: a, before: 'shop.*', deny: true}":                                                                                        `warning: nothing publishes "shop.*"`,
		"{id: a, before: pay.refund, require: \"none(calls['pay.refnd'], true)\"}":                                                     `1:52: error: nothing publishes "pay.refnd"`,
		"{id: a, before: pay.refund, require: \"any(calls['mails.read'], true)\"}":                                                     `1:51: warning: nothing publishes "mails.read"`,
		"{id: a, before: pay.refund, require: 'input.amonut > 5'}":                                                                     `error: input has no field "amonut": did you mean "amount"?`,
		"{id: a, before: pay.refund, require: \"input.amount > '5'\"}":                                                                 "error: a number cannot be compared with a string by >",
		"{id: a, before: pay.refund, require: 'input.order == true'}":                                                                  "a string is never equal to a boolean",
		"{id: a, before: pay.refund, require: 'input.order > facts.most'}":                                                             "error: a string cannot be compared with a number by >",
		"{id: a, before: pay.refund, require: [{needs: e, that: 'e.result.totl > 5'}]}":                                                `has no field "totl": did you mean "total"?`,
		"{id: a, before: pay.refund, require: \"any(calls['orders.get'], .result.totl > 5)\"}":                                         `has no field "totl": did you mean "total"?`,
		"{id: a, before: pay.refund, require: \"any(calls['orders.get'], .result.status == 'done')\"}":                                 "warning: any accepts a call of orders.get that a later one contradicts",
		"{id: a, before: pay.refund, require: \"none(calls['pay.refund'], any(calls['orders.get'], true))\"}":                          "warning: a list of calls is read for each item of another one",
		"{id: a, before: pay.refund, require: [{needs: wrong}]}":                                                                       `error: orders.get takes no argument "id"`,
		"{id: a, before: pay.refund, require: 'input.amount > 1'}":                                                                     "warning: no rule uses the evidence wrong",
		"{id: a, before: orders.drop, require: [{needs: e, that: 'e.result.total > 5'}]}":                                              "note: e may be read before and used after a call of orders.drop",
		"{id: a, before: orders.get, require: [{needs: e}]}":                                                                           "error: rule a can never be met: orders.get, which needs orders.get",
		"{id: a, before: pay.refund, require: [{needs: e}]}, {id: b, before: orders.get, require: \"any(calls['pay.refund'], true)\"}": "error: rule a can never be met: pay.refund needs orders.get, which needs pay.refund",
		"{id: a, before: pay.refund, require: [{needs: e}]}, {id: b, before: orders.get, deny: true}":                                  "error: rule a can never be met: pay.refund needs orders.get, and rule b forbids every call of orders.get",
		"{id: a, before: pay.refund, require: 'none(commands(input.order), .nam == input.order)'}":                                     `error: # has no field "nam": did you mean "name"? (a command)`,
	} {
		source := "rules: [" + rule + "]\nfacts: {most: 5}\nevidence: {e: {last: orders.get, where: {order: input.order}}, wrong: {last: orders.get, where: {id: input.order}}}"
		file, err := rules.Parse("rules/r.yaml", []byte(source))
		require.NoError(t, err, rule)
		said := ""
		for _, each := range rules.Check(rules.New(file), shop) {
			require.Positive(t, each.Line)
			severity := each.Severity
			if severity == "" {
				severity = "error"
			}
			said += fmt.Sprintf("%d:%d: %s: %s\n", each.Line, each.Column, severity, each.Message)
		}
		require.Equal(t, 1, strings.Count(said, message), "%s: %s", rule, said)
	}
}

// TestCheckReadsEveryExpression: also those of limits, questions, evidence and success, of rules
// about a client's own tools, and facts that are patterns.
func TestCheckReadsEveryExpression(t *testing.T) {
	long := strings.Repeat("a", 300)
	for line, message := range map[string]string{
		"  - {id: a, before: Bash, when: 'input.command matches facts.long', deny: true}":                         "error: the pattern has more than 256 bytes",
		"  - {id: a, before: Bash, when: 'any(facts.list, input.command matches #)', deny: true}":                 "error: the pattern is wrong: missing closing )",
		"  - {id: a, before: Bash, require: 'input.x matches facts.map.a'}":                                       "error: the pattern is wrong: missing closing )",
		"  - {id: a, before: Bash, require: 'input.x > facts.list'}":                                              "error: the right side of > must be a number or a string, not a list",
		"  - {id: a, before: Bash, at_most: 1, per: 'input.x matches facts.bad'}":                                 "error: the pattern is wrong: missing closing )",
		"  - {id: a, before: pay.refund, once: 'input.ordr'}":                                                     `error: input has no field "ordr"`,
		"  - {id: a, before: Bash, approve: 'Is {{ input.x }} {{ input.x matches facts.bad }}?'}":                 "error: the pattern is wrong: missing closing )",
		"  - {id: a, before: Bash, require: {needs: typo}}":                                                       `5:40: error: result has no field "totl": did you mean "total"?`,
		"  - {id: a, before: Bash, require: {needs: list}}":                                                       "6:44: error: + needs two numbers or two strings",
		"  - {id: a, before: Bash, require: \"none(calls['Bash'], true) and count(failed['Edit'], true) < 'x'\"}": "error: a number cannot be compared with a string by <",
	} {
		file, err := rules.Parse("rules/r.yaml", []byte("facts: {long: "+long+", bad: '(', list: [ok, '(b'], map: {a: '(c'}, five: 5}\nsuccess:\n  orders.get: 'result.statuss == 1'\nevidence:\n"+
			"  typo: {last: orders.get, if: 'result.totl > 5'}\n  list: {last: Bash, where: {x: 'facts.bad + facts.five'}}\nrules:\n"+line))
		require.NoError(t, err, line)
		said := ""
		for _, each := range rules.Check(rules.New(file), shop) {
			said += fmt.Sprintf("%d:%d: %s: %s\n", each.Line, each.Column, cmp.Or(each.Severity, "error"), each.Message)
		}
		require.Equal(t, 1, strings.Count(said, message), "%s: %s", line, said)
		require.Contains(t, said, `3:23: error: result has no field "statuss": did you mean "status"?`)
		require.NotContains(t, said, "calls has no field", "a client's tool is one, too")
	}
}

func TestCheckHasNothingToSayAboutWhatIsRight(t *testing.T) {
	set := parsed(t, "facts: {most: 500}", "evidence:",
		"  e: {last: orders.get, where: {order: input.order}, since: orders.drop}", "rules:",
		"  - {id: seen, before: pay.refund, require: [{needs: e, that: \"e.result?.status == 'delivered' and input?.amount <= facts.most\"}]}",
		"  - {id: once, before: pay.refund, once: input.order}",
		"  - {id: none, before: pay.credit, require: \"none(calls['pay.credit'], .input.order == input.order)\"}",
		"  - {id: functions, before: pay.refund, deny: true, when: \"date(input.order) > 5 and days(input.order, '2026-01-01') > seconds('2026-01-01', input.order) or any(commands(input), .name == 'git' and '-f' in .flags)\"}",
		"  - {id: bash, before: Bash, when: \"input.command contains 'rm'\", approve: \"{{ input.command }}?\"}")
	for _, each := range rules.Check(set, shop) {
		require.NotEmpty(t, each.Severity, each.Message)
		require.False(t, strings.HasPrefix(each.Message, "nothing publishes"), each.Message)
	}
}
