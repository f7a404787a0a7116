package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"savant/rules"
)

// BenchmarkDecide judges calls by 100 rules after 1,000 and 100,000 calls, and gives the
// 95th percentile.
func BenchmarkDecide(b *testing.B) {
	set := hundred(b)
	for _, size := range []int{1000, 100_000} {
		s := newSession(set)
		for i := range size {
			s.made("orders.get", object{"id": i}, object{"total": 100})
		}
		for _, tool := range []string{"pay.refund3", "pay.all"} {
			b.Run(fmt.Sprintf("%s/%d", tool, size), func(b *testing.B) {
				var took []time.Duration
				for i := range b.N {
					start := time.Now()
					s.decide(tool, object{"id": i % size, "amount": 50})
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
			})
		}
	}
}

// hundred returns 100 rules, all of them about pay.all.
func hundred(t testing.TB) *rules.Set {
	t.Helper()
	lines := "evidence:\n"
	for i := range 100 {
		lines += fmt.Sprintf("  e%d: {last: orders.get, where: {id: input.id}, implied_by: [orders.list], since: orders.drop}\n", i)
	}
	lines += "rules:\n"
	for i := range 100 {
		lines += fmt.Sprintf("  - {id: r%d, before: [pay.refund%d, pay.all], when: \"input.amount > %d\", require: [{needs: e%d, that: \"e%d.result.total >= input.amount\"}, \"none(calls['pay.refund%d'], .input.id == input.id)\"]}\n", i, i%10, i%3, i, i, i%10)
	}
	file, err := rules.Parse("rules/r.yaml", []byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	return rules.New(file)
}

// TestWhatRulesShareIsComputedOnce counts what a decision allocates, since each evaluation
// of a list does: fewer than three for each of 100 rules that are met.
func TestWhatRulesShareIsComputedOnce(t *testing.T) {
	s := newSession(hundred(t))
	s.made("orders.get", object{"id": 1}, object{"total": 100})
	input := object{"id": 1, "amount": 50}
	if verdict := s.decide("pay.all", input); verdict.Decision != rules.Allow || len(verdict.Uses) != 100 {
		t.Fatalf("decided %v with %d uses", verdict.Decision, len(verdict.Uses))
	}
	if each := testing.AllocsPerRun(20, func() { s.decide("pay.all", input) }); each > 300 {
		t.Errorf("a decision allocates %v times", each)
	}
}

// TestATextIsReadOnceForAllRules: the second rule about commands(input) costs a hundredth of the first.
func TestATextIsReadOnceForAllRules(t *testing.T) {
	text := "cat > a <<E\n" + strings.Repeat("a line\n", 3000) + "E\n" + strings.Repeat("make one two three; ", 500) + "ls"
	allocs := map[int]float64{}
	for _, count := range []int{1, 11} {
		lines := "rules:\n"
		for i := range count {
			lines += fmt.Sprintf("  - {id: r%d, before: Bash, when: \"len(commands(input)) == %d\", deny: true}\n", i, i)
		}
		file, err := rules.Parse("rules/r.yaml", []byte(lines))
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(rules.New(file))
		allocs[count] = testing.AllocsPerRun(5, func() { s.decide("Bash", object{"command": text}) })
	}
	if more := (allocs[11] - allocs[1]) / 10; more*100 > allocs[1] {
		t.Errorf("a further rule allocates %v times, the first %v times", more, allocs[1])
	}
}

// BenchmarkParse reads rules of the longest conditions.
func BenchmarkParse(b *testing.B) {
	lines := "rules:\n"
	for i := range 10 {
		lines += fmt.Sprintf("  - {id: r%d, before: a.b, require: \"%strue\"}\n", i, strings.Repeat("input.a == 1 or ", 490))
	}
	b.SetBytes(int64(len(lines)))
	for b.Loop() {
		if _, err := rules.Parse("rules/r.yaml", []byte(lines)); err != nil {
			b.Fatal(err)
		}
	}
}
