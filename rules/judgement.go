package rules

import (
	"slices"
	"strings"

	"savant/internal/pattern"
	"savant/think/flow/expression"
)

// judgement evaluates the expressions of one file for one call. It implements
// expression.Values.
type judgement struct {
	file    *File
	history *History
	own     *ledger // the calls of the call's session
	call    Call
	run     Run                              // the run of whose workflow the file is, if it is one's
	found   []*found                         // by evidence.nth
	wheres  map[string]whereValue            // by the expression's source
	results map[*expression.Condition]result // of those that rules share
	// commands keeps the commands that expressions read, for all judgements of a call.
	commands expression.Commands
	draft    Finding // of the rule that is judged, so that one that is met needs no memory
	of       *Made   // in an if or a success: the call that it is about
	// counting: calls whose outcome is not known are in every list of which it is unclear
	// what more of them would do.
	counting bool
	// wanted takes a call that a condition looks for and that was not made; nil: nobody asks.
	wanted **Suggestion
}

// result is what a condition gave.
type result struct {
	holds  bool
	failed []*expression.Condition
	err    error
}

// found is the answer to a question for evidence.
type found struct {
	made    *Made // nil: no call is the evidence
	implied bool
	err     error
	// broken are the expressions that err is of.
	broken []piece
	// why says which call is nearly the evidence; lacks names an argument that was not given.
	why, lacks string
	values     []any // of where
}

// judgements returns one for each run of the call for which the file holds.
func (h *History) judgements(file *File, own *ledger, call Call, commands expression.Commands) []*judgement {
	runs := file.runs(call)
	all := make([]*judgement, len(runs))
	for i, run := range runs {
		all[i] = &judgement{file: file, history: h, own: own, call: call, run: run, commands: commands, found: make([]*found, len(file.evidence)), wheres: map[string]whereValue{}, results: map[*expression.Condition]result{}}
	}
	return all
}

// whereValue is what an expression of where gives, and its text. It reads no calls, so it
// is the same for all evidence of a file.
type whereValue struct {
	value any
	text  string
	err   error
}

func (j *judgement) whereValue(program *expression.Program) whereValue {
	value, is := j.wheres[program.Source()]
	if !is {
		value.value, value.err = program.Eval(j.env())
		value.text = encoded(value.value)
		j.wheres[program.Source()] = value
	}
	return value
}

func (j *judgement) env() expression.Env { return expression.Env{Values: j, Commands: j.commands} }

// Value implements expression.Values.
func (j *judgement) Value(read expression.Read) any {
	switch read.Root {
	case rootInput:
		if j.call.Input == nil {
			return map[string]any{}
		}
		return j.call.Input
	case rootFacts:
		return j.file.facts
	case rootParams:
		return j.run.Params
	case rootState:
		return j.run.State
	case rootCalls, rootFailed:
		return j.calls(read)
	case rootResult:
		return j.of.item["result"]
	case rootCall:
		return []any{j.of.item}
	}
	answer := j.evidence(j.file.evidence[read.Root]) // the parser knows the roots
	switch {
	case answer.err != nil:
		return answer.err
	case answer.made == nil:
		return nil
	}
	return answer.made.item
}

// calls returns the calls that an expression asks for.
func (j *judgement) calls(read expression.Read) any {
	key := listKey{failed: read.Root == rootFailed, tool: read.Name, keys: indexName(read.Keys)}
	for i, value := range read.Equal {
		if i > 0 {
			key.equal += "\x00"
		}
		key.equal += encoded(value)
	}
	items := j.own.calls(key, read.Keys, (read.Negative || read.Unclear && j.counting) && !key.failed)
	if j.wanted != nil && len(items) == 0 && !read.Negative && !key.failed {
		return j.want(read)
	}
	return items
}

// want notes the call of an empty list that would help, at best with its arguments: these are
// computed for a list that is not empty only, so it returns one with a call of no tool.
func (j *judgement) want(read expression.Read) any {
	input := map[string]any{}
	for i, name := range read.Keys {
		input[name] = read.Equal[i]
	}
	if *j.wanted == nil || len(input) > 0 {
		*j.wanted = &Suggestion{Tool: read.Name, Input: input}
	}
	return []any{map[string]any{"input": input, "result": nil}}
}

// about evaluates a condition about a call that was made.
func (j *judgement) about(made *Made, that *condition) (bool, error) {
	asked := *j
	asked.of = made
	holds, _, err := that.Holds(asked.env())
	return holds, err
}

// evidence looks for the call of a name, once for each judgement.
func (j *judgement) evidence(e *evidence) *found {
	if known := j.found[e.nth]; known != nil {
		return known
	}
	answer := &found{}
	j.found[e.nth] = answer
	equal, given := j.where(e, answer)
	if answer.err != nil || !given {
		return answer
	}
	ledger := j.own
	if e.project {
		ledger = j.history.project
	}
	after, running := ledger.lastEnd(e.since)
	if running {
		answer.why = "a call of " + strings.Join(e.since, ", ") + " is not finished"
		return answer
	}
	key, best := listKey{keys: indexName(e.keys), equal: equal}, after
	last := ledger.toolsOf(e.last)
	for _, key.tool = range last {
		if calls := ledger.lists[key]; calls != nil {
			if at := j.last(e, calls, best, answer); at >= 0 {
				answer.made, best = calls.made[at], calls.began[at]
			}
		}
	}
	if answer.made != nil || answer.err != nil {
		return answer
	}
	for _, key.tool = range ledger.toolsOf(e.impliedBy) {
		if calls := ledger.lists[key]; calls != nil {
			at := len(calls.made) - 1
			if calls.began[at] > best && j.recent(e, calls.made[at]) {
				answer.made, answer.implied, best = calls.made[at], true, calls.began[at]
			}
		}
	}
	for _, tool := range last {
		if answer.made == nil {
			ledger.unfit(listKey{failed: true, tool: tool, keys: key.keys, equal: equal}, e.keys, answer)
		}
	}
	return answer
}

// unfit notes the latest call that would be the evidence if it had not failed, or if it were
// known how it ended.
func (l *ledger) unfit(key listKey, keys []string, answer *found) {
	for _, made := range slices.Backward(l.open[key.tool]) {
		if equal, has := valuesOf(made.Input, keys); has && equal == key.equal {
			answer.nearly(made, "has no known end")
		}
	}
	if calls := l.lists[key]; calls != nil {
		answer.nearly(calls.made[len(calls.made)-1], "failed")
	}
}

// toolsOf returns the tools of names and patterns, sorted; of a pattern, those with calls.
func (l *ledger) toolsOf(names []string) []string {
	if !slices.ContainsFunc(names, isPattern) {
		return names
	}
	all := slices.DeleteFunc(slices.Clone(names), isPattern)
	for tool := range l.open { // it has all that were called
		if matchesAny(names, tool) {
			all = append(all, tool)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// where computes the values that the input of the evidence needs. An argument that the
// call does not have, or null, equals nothing: then there is no evidence.
func (j *judgement) where(e *evidence, answer *found) (equal string, given bool) {
	answer.values = make([]any, len(e.keys))
	texts := make([]string, len(e.keys))
	for i := range e.keys {
		program := e.values[i].program
		if program == nil {
			answer.values[i], texts[i] = e.values[i].literal, encoded(e.values[i].literal)
			continue
		}
		value := j.whereValue(program)
		switch {
		case value.err != nil && !expressionError(value.err).Missing:
			answer.err, answer.broken = value.err, []piece{e.values[i].piece}
			return "", false
		case value.err != nil || value.value == nil:
			answer.lacks = program.Source()
			return "", false
		}
		answer.values[i], texts[i] = value.value, value.text
	}
	return strings.Join(texts, "\x00"), true
}

// maxTried bounds the calls that an if is asked about.
const maxTried = 1000

var errTooLong = &expression.Error{Exceeded: true, Message: "too many calls would have to be looked at"}

// last returns where the last call of a list is that fits and began after an event, or -1.
func (j *judgement) last(e *evidence, calls *list, after int, answer *found) int {
	for i := len(calls.made) - 1; i >= 0; i-- {
		made := calls.made[i]
		switch {
		case calls.began[i] <= after:
			answer.nearly(made, "was before the last "+strings.Join(e.since, ", "))
			return -1
		case !j.recent(e, made):
			answer.nearly(made, "is too long ago")
			return -1
		case e.fits == nil:
			return i
		case len(calls.made)-i > maxTried:
			answer.err, answer.broken = errTooLong, e.fits.pieces()
			return -1
		}
		fits, err := j.about(made, e.fits)
		if err != nil {
			answer.err, answer.broken = err, e.fits.pieces()
			return -1
		}
		if fits {
			return i
		}
		answer.nearly(made, gave(made.item["result"]))
	}
	return -1
}

// gave says what a call gave that does not fit. Of a list or a map a rule names parts
// only, and these alone may be shown.
func gave(result any) string {
	switch result.(type) {
	case []any, map[string]any:
		return "does not fit"
	}
	return "gave " + shown(result)
}

// nearly notes the latest call that is not the evidence, and why.
func (f *found) nearly(made *Made, why string) {
	if f.why == "" {
		f.why = label(made) + " " + why
	}
}

// recent reports whether a call is of the time in which evidence counts. After a clock that was
// ahead was set back, a call can be of a later time: it is no fresher than one as far before.
func (j *judgement) recent(e *evidence, made *Made) bool {
	apart := j.call.Time - made.Time
	return e.within == 0 || max(apart, -apart) < e.within
}

// tellsSecret reports whether a secret fact is read.
func (j *judgement) tellsSecret(references []expression.Reference) bool {
	return slices.ContainsFunc(references, func(each expression.Reference) bool {
		return each.Root == rootFacts && (j.file.secret[each.Name] || each.Name == "" && len(j.file.secret) > 0)
	})
}

// outcome asks the success of each file about a call that was no error.
func (s *Set) outcome(call Call, result any) Outcome {
	outcome := Succeeded
	made := &Made{Call: call, item: map[string]any{"input": call.Input, "result": result}}
	for _, file := range s.files {
		if len(file.runs(call)) == 0 {
			continue
		}
		for _, each := range file.success {
			if !pattern.Matches(each.tool, call.Tool) {
				continue
			}
			j := &judgement{file: file, call: call}
			switch holds, err := j.about(made, each.that); {
			case err != nil:
				return Unknown
			case !holds:
				outcome = Failed
			}
		}
	}
	return outcome
}
