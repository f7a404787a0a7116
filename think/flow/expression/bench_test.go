package expression_test

import (
	"runtime"
	"strings"
	"testing"

	"savant/think/flow/expression"
)

// typical is an expression of the kind that workflows contain.
const typical = `len(filter(state.changed.files, .name endsWith ".go")) > 0 && params.pr != 0`

func typicalScope() expression.Scope {
	return expression.Scope{Params: expression.NamesOf("pr"), Captures: expression.NamesOf("changed")}
}

func typicalEnv() expression.Env {
	files := []any{}
	for _, name := range []string{"a.go", "b.md", "c.go"} {
		files = append(files, map[string]any{"name": name})
	}
	changed := map[string]any{"files": files}
	return expression.Env{
		Params: map[string]any{"pr": 7},
		Steps:  captured(func(string) any { return changed }),
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := expression.Compile(typical, typicalScope()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	for name, source := range map[string]string{
		"typical": typical, "name": "params.pr", "comparison": `params.pr == 7 && state.changed != null`,
	} {
		b.Run(name, func(b *testing.B) {
			program, err := expression.Compile(source, typicalScope())
			if err != nil {
				b.Fatal(err)
			}
			env := typicalEnv()
			for b.Loop() {
				if _, err := program.Eval(env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBudget measures the longest possible evaluation.
func BenchmarkBudget(b *testing.B) {
	program, err := expression.Compile(`let l = 1..300; all(l, all(l, all(l, # > 0)))`, expression.Scope{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := program.Eval(expression.Env{}); err == nil {
			b.Fatal("27,000,000 turns were not stopped")
		}
	}
}

// BenchmarkProgramSize reports the bytes that a compiled expression keeps.
func BenchmarkProgramSize(b *testing.B) {
	const programs = 1000
	kept := make([]*expression.Program, programs)
	var before, after runtime.MemStats
	for b.Loop() {
		clear(kept)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range kept {
			kept[i], _ = expression.Compile(strings.Clone(typical), typicalScope())
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/programs, "B/program")
	runtime.KeepAlive(kept)
}
