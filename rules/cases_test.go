package rules_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/rules"
)

// run runs a file of cases and returns what did not go as expected.
func run(t *testing.T, file string, set *rules.Set, coverage rules.Coverage) (*rules.Cases, []fault.Diagnostic) {
	t.Helper()
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	cases, err := rules.ParseCases(file, src)
	require.NoError(t, err)
	var failures []fault.Diagnostic
	for _, each := range cases.Cases {
		failures = append(failures, each.Run(set, coverage)...)
	}
	return cases, failures
}

func TestTheCasesOfTheLanguage(t *testing.T) {
	for _, file := range []string{"../test/rules/rules-cases.yaml", "../test/rules/sentences.cases.yaml"} {
		cases, failures := run(t, file, rules.New(), nil)
		require.NotEmpty(t, cases.Cases)
		for _, each := range failures {
			t.Errorf("%s:%d: %s", file, each.Line, each.Message)
		}
	}
}

// bank reads the rules of a bank, the first example of the language.
func bank(t *testing.T) *rules.Set {
	t.Helper()
	src, err := os.ReadFile("../test/rules/bank.yaml")
	require.NoError(t, err)
	file, err := rules.Parse("rules/bank.yaml", src)
	require.NoError(t, err)
	return rules.New(file)
}

func TestABank(t *testing.T) {
	set, coverage := bank(t), rules.Coverage{}
	cases, failures := run(t, "../test/rules/bank.cases.yaml", set, coverage)
	for _, each := range failures {
		t.Errorf("%d: %s", each.Line, each.Message)
	}
	require.Empty(t, coverage.Unseen(set))
	require.Empty(t, rules.Mutate(set, cases.Cases, "../test/rules/bank.cases.yaml"))
}

func TestWhatTheCasesDoNotCoverIsNamed(t *testing.T) {
	set, coverage := bank(t), rules.Coverage{}
	cases, err := rules.ParseCases("x.cases.yaml", []byte(`
- name: weak
  steps:
    - {tool: clock.now, input: {}, result: noon}
    - {tool: pay.refund, input: {order: a, amount: 1}, expect: allow}
`))
	require.NoError(t, err)
	require.Empty(t, cases.Cases[0].Run(set, coverage))
	unseen := coverage.Unseen(set)
	require.Len(t, unseen, len(set.Files()[0].Rules))
	require.Contains(t, unseen[2].Message, "no test saw rule once refuse a call")
	survivors := rules.Mutate(set, cases.Cases, "x.cases.yaml")
	require.Contains(t, survivors[len(survivors)-1].Message, "the call of clock.now makes no difference")
}
