package think_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// generated is a random workflow "main" with the workflows it runs, and
// parameters for it.
type generated struct {
	files  map[string]string // YAML by name
	root   []model           // the steps of "main"
	params map[string]any
}

// model is what is known of a generated step: enough to say from the final
// statuses whether it was settled as docs/language.md says.
type model struct {
	id, capture     string
	deps, hard      []string // ids of steps; hard: whose capture is read without a default
	join, onFailure string
	loop, barrier   bool
	lines           []string // of its YAML
}

func (s *model) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *model) depend(id string) {
	if !slices.Contains(s.deps, id) {
		s.deps = append(s.deps, id)
	}
}

// author writes one workflow.
type author struct {
	t        *rapid.T
	gentle   bool // every failure is passed over
	children []string
	steps    []model
}

func generate(t *rapid.T, gentle bool) generated {
	g := generated{files: map[string]string{}, params: map[string]any{
		"flag": rapid.Bool().Draw(t, "flag"),
		"n":    rapid.IntRange(0, 4).Draw(t, "n"),
		"list": slices.Repeat([]any{1, "two"}, rapid.IntRange(0, 2).Draw(t, "list")),
	}}
	var children []string
	for _, name := range []string{"inner", "outer"}[:rapid.IntRange(0, 2).Draw(t, "children")] {
		a := &author{t: t, gentle: gentle, children: slices.Clone(children)}
		g.files[name] = a.workflow(name, 4)
		children = append(children, name)
	}
	a := &author{t: t, gentle: gentle, children: children}
	g.files["main"] = a.workflow("main", 9)
	g.root = a.steps
	return g
}

func (a *author) chance(percent int) bool {
	return rapid.IntRange(1, 100).Draw(a.t, "chance") <= percent
}

func (a *author) pick(from ...string) string { return rapid.SampledFrom(from).Draw(a.t, "pick") }

// workflow writes steps of which each may depend on those before it, and
// declares them in any order.
func (a *author) workflow(name string, most int) string {
	for i := range rapid.IntRange(1, most).Draw(a.t, "steps of "+name) {
		a.steps = append(a.steps, a.step(i))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "name: %s\nversion: \"1\"\nlimits: {parallel: %d, groups: {few: 1}}\n", name, rapid.IntRange(1, 4).Draw(a.t, "parallel"))
	out.WriteString("params: {flag: {type: boolean, default: true}, n: {type: integer, default: 1}, list: {type: array, default: [1]}}\nsteps:\n")
	for _, step := range rapid.Permutation(a.steps).Draw(a.t, "order of "+name) {
		out.WriteString("  - " + strings.Join(step.lines, "\n    ") + "\n")
	}
	out.WriteString("outputs:\n  n: \"{{ params.n }}\"\n  list: [1, 2]\n")
	for _, step := range a.steps {
		fmt.Fprintf(&out, "  %s: \"{{ steps.%s.status }}\"\n", step.id, step.id)
		if step.capture != "" {
			fmt.Fprintf(&out, "  %s: \"{{ %s }}\"\n", step.capture, step.capture)
		}
	}
	return out.String()
}

func (a *author) step(i int) model {
	s := model{id: fmt.Sprintf("s%d", i), join: "all", onFailure: a.pick("fail", "fail", "continue", "skip_rest")}
	if a.gentle {
		s.onFailure = "continue"
	}
	if a.chance(25) {
		s.join = a.pick("any", "done", "done", "success")
	}
	s.line("id: %s", s.id)
	if s.loop = a.chance(25); s.loop {
		s.line("foreach: %q", a.list(&s))
		if a.chance(30) {
			s.line("parallel: %s", a.pick("1", "2", "params.n + 1"))
		}
	}
	a.call(&s)
	a.order(&s)
	if a.chance(30) {
		s.line("when: %q", a.condition(&s))
	}
	if a.chance(60) {
		s.capture = fmt.Sprintf("c%d", i)
		s.line("capture_as: %s", s.capture)
	}
	if s.join != "all" || len(s.deps) > 0 {
		s.line("join: %s", s.join)
	}
	s.line("on_failure: %s", s.onFailure)
	return s
}

func (a *author) order(s *model) {
	var ids []string
	for _, before := range a.steps {
		if a.chance(20) {
			ids = append(ids, before.id)
			s.depend(before.id)
		}
	}
	if len(ids) > 0 {
		s.line("deps: [%s]", strings.Join(ids, ", "))
	}
}

func (a *author) call(s *model) {
	switch what := a.pick("tool.read", "tool.read", "tool.read", "llm.generate", "flow.set", "flow.assert", "flow.run", "human.approve"); {
	case what == "flow.set":
		s.line("call: flow.set\n    input_template: {value: {n: %q, list: [1, %q], ok: true}}", a.value(s), a.value(s))
	case what == "flow.assert":
		a.holds(s)
		s.line("call: flow.assert\n    input_template: {that: %q, message: no}", "{{ "+a.condition(s)+" }}")
	case what == "flow.run" && len(a.children) > 0:
		a.holds(s)
		s.line("call: flow.run\n    input_template: {workflow: %s, params: {n: %q}}", a.pick(a.children...), a.number(s))
		if a.chance(40) {
			s.line("repeat: {until: %q, max: %d}", a.pick("true", "false", "result.n > 1", "len(result.list) > 9"), rapid.IntRange(1, 3).Draw(a.t, "max"))
		}
	case what == "human.approve":
		a.holds(s)
		s.line("call: human.approve\n    input_template: {message: %q}", "So? "+a.value(s))
	default:
		s.line("call: tool.read\n    input_template: {a: %q, b: %q, c: {d: [%q]}}", a.value(s), a.value(s), "x "+a.value(s))
		s.line("retry: {max: %d}", rapid.IntRange(0, 2).Draw(a.t, "retries"))
		if a.chance(50) {
			s.line("success_schema: {type: object, required: [n], properties: {n: {type: integer}}}")
		}
		if a.chance(15) {
			s.line("group: few")
		}
		if a.chance(20) {
			s.line("extract: %q", "{n: result.n, list: result?.list ?? [], ok: result?.ok ?? false}")
		}
	}
}

// holds makes a check a barrier, as most are.
func (a *author) holds(s *model) {
	if s.barrier = !a.chance(20); !s.barrier {
		s.line("barrier: false")
	}
}

// capture returns the expression of an earlier capture, if there is one; every
// capture but a loop's is an object, true or null.
func (a *author) capture(s *model, loops bool) (name string, ok bool) {
	var fitting []model
	for _, before := range a.steps {
		if before.capture != "" && before.loop == loops {
			fitting = append(fitting, before)
		}
	}
	if len(fitting) == 0 {
		return "", false
	}
	from := rapid.SampledFrom(fitting).Draw(a.t, "capture")
	s.depend(from.id)
	return from.capture, true
}

// value returns a template of any value.
func (a *author) value(s *model) string {
	if a.chance(20) {
		if name, ok := a.capture(s, a.chance(30)); ok {
			s.hard = append(s.hard, name)
			return "{{ " + name + " }}"
		}
	}
	if s.loop && a.chance(30) {
		return a.pick("{{ item }}", "{{ loop.index }}")
	}
	return "{{ " + a.soft(s) + " }}"
}

// soft returns an expression that has a value whatever was skipped.
func (a *author) soft(s *model) string {
	if s.join == "done" && a.chance(30) {
		return a.pick("len(run.failed)", "run.status", "join(run.failed)")
	}
	if len(a.steps) > 0 && a.chance(15) {
		from := rapid.SampledFrom(a.steps).Draw(a.t, "told of")
		s.depend(from.id)
		return "steps." + from.id + a.pick(".error?.code ?? 'none'", ".reason ?? 'none'")
	}
	if name, ok := a.capture(s, false); ok {
		return name + " ?? 'nothing'"
	}
	if name, ok := a.capture(s, true); ok {
		return "len(" + name + " ?? [])"
	}
	return a.pick("params.n", "params.list", "run.workflow")
}

func (a *author) number(s *model) string {
	if a.chance(70) {
		if name, ok := a.capture(s, true); ok {
			return "{{ len(" + name + " ?? []) }}"
		}
	}
	return "{{ params.n + 1 }}"
}

func (a *author) list(s *model) string {
	if a.chance(50) {
		if name, ok := a.capture(s, true); ok {
			return name + " ?? []"
		}
	}
	if a.chance(50) {
		if name, ok := a.capture(s, false); ok {
			return "[" + name + " ?? 1, 2]"
		}
	}
	return a.pick("params.list", "[1, 2, 3]", "[]", "1..params.n")
}

func (a *author) condition(s *model) string {
	if s.loop && a.chance(40) {
		return a.pick("loop.index != 1", "toJSON(item) != '2'")
	}
	if len(a.steps) > 0 && a.chance(60) {
		from := rapid.SampledFrom(a.steps).Draw(a.t, "status of")
		s.depend(from.id)
		return fmt.Sprintf("steps.%s.status %s %q", from.id, a.pick("==", "!="), a.pick("done", "skipped", "failed"))
	}
	if a.chance(10) {
		if name, ok := a.capture(s, false); ok {
			s.hard = append(s.hard, name)
			return name + ".n > 1" // blocks the run where there is no n
		}
	}
	if a.chance(50) {
		if name, ok := a.capture(s, a.chance(50)); ok {
			s.hard = append(s.hard, name)
			return name + " != nil"
		}
	}
	return a.pick("params.flag", "not params.flag", "params.n > 1", "true", "false", "10 / (params.n + 1) > 2")
}
