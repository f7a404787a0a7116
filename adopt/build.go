package adopt

import "strings"

// answerOf is the schema of a question with some answers.
func answerOf(answers ...string) map[string]any {
	return map[string]any{"type": "object", "required": []any{"answer"}, "additionalProperties": false,
		"properties": map[string]any{"answer": map[string]any{"enum": answers}, "why": map[string]any{"type": "string"}}}
}

// task adds a step in which the model does what a text says.
func (d *Draft) task(id, task string, line int, quote string, deps ...string) *Step {
	input := map[string]any{"task": task}
	if len(d.answers) > 0 {
		input["answers"] = d.answers
	}
	return d.add(&Step{ID: id, Call: callGenerate, Input: input, Deps: compact(deps), Line: line, Quote: quote})
}

// question adds a step that has to be answered by one of some words.
func (d *Draft) question(id, task string, line int, quote string, answers []string, deps ...string) *Step {
	step := d.task(id, task, line, quote, deps...)
	step.Schema, step.Capture = answerOf(answers...), step.ID
	return step
}

// askWhether adds the question of a condition.
func (d *Draft) askWhether(condition string, line int, quote string, deps ...string) *Step {
	asked := "is it so that " + condition + "?"
	if strings.HasSuffix(condition, "?") {
		asked = condition
	}
	return d.question("is "+condition, "Answer yes or no, and say why: "+asked, line, quote, []string{"yes", "no"}, deps...)
}

// branch adds the steps of a condition: the question, what follows from yes and from no, and
// a step where both meet. It returns the last one.
func (d *Draft) branch(b branches, line int, quote string, deps ...string) (step, last *Step) {
	step = d.askWhether(b.question, line, quote, deps...)
	var ends []string
	for _, each := range []struct{ answer, words string }{{"yes", b.yes}, {"no", b.no}} {
		var made *Step
		if each.words == "" {
			made = d.without(step)
		} else {
			made = d.task(each.words, each.words, line, quote, step.ID)
		}
		made.When = step.Capture + ".answer == '" + each.answer + "'"
		if stops().MatchString(each.words) {
			other := map[string]string{"yes": "no", "no": "yes"}[each.answer]
			made = d.add(&Step{ID: "stop " + step.ID, Call: callAssert, Input: map[string]any{"that": "{{ " + step.Capture + ".answer == '" + other + "' }}", "message": each.words}, Deps: []string{made.ID}, Line: line, Quote: quote})
		}
		ends = append(ends, made.ID)
	}
	return step, d.meet(step, ends...)
}

// without adds the branch of a question in which nothing happens.
func (d *Draft) without(step *Step) *Step {
	return d.add(&Step{ID: "without " + step.ID, Call: callSet, Input: map[string]any{"value": "nothing to do"}, Deps: []string{step.ID}, When: step.Capture + ".answer == 'no'", Line: step.Line, Quote: step.Quote})
}

// meet adds the step where the branches of a question meet.
func (d *Draft) meet(step *Step, ends ...string) *Step {
	return d.add(&Step{ID: "after " + step.ID, Call: callSet, Input: map[string]any{"value": "either branch"}, Deps: ends, Join: "any", Line: step.Line, Quote: step.Quote})
}

// approve adds a step in which a person is asked.
func (d *Draft) approve(words string, line int, quote string, deps ...string) *Step {
	return d.add(&Step{ID: "approve " + words, Call: callApprove, Input: map[string]any{"message": words}, Deps: compact(deps), Line: line, Quote: quote})
}

// maxAnswers is of how many questions, the last ones, a task below has the answers.
const maxAnswers = 50

// ask adds a question that a person answers; always says that no condition is above it, so
// that the tasks below can have the answer.
func (d *Draft) ask(words string, line int, quote string, always bool, deps ...string) *Step {
	schema := map[string]any{"type": "object", "required": []any{"answer"}, "properties": map[string]any{"answer": map[string]any{"type": "string"}}}
	step := d.add(&Step{ID: words, Call: callAsk, Input: map[string]any{"message": words, "schema": schema}, Deps: compact(deps), Line: line, Quote: quote})
	if step.Capture = step.ID; always {
		d.asked, d.answers = append(d.asked, step.ID), map[string]any{}
		for _, each := range d.asked[max(0, len(d.asked)-maxAnswers):] {
			d.answers[each] = "{{ " + each + ".answer }}"
		}
	}
	return step
}

// hold adds the question whether a duty was kept, and the assertion that it was.
func (d *Draft) hold(words string, line int, quote string, deps ...string) *Step {
	step := d.question("kept "+words, "See to this, then answer yes or no and name what shows it: was it kept? "+words, line, quote, []string{"yes", "no"}, deps...)
	return d.add(&Step{ID: "holds " + words, Call: callAssert, Input: map[string]any{"that": "{{ " + step.Capture + ".answer == 'yes' }}", "message": words}, Deps: []string{step.ID}, Line: line, Quote: quote})
}

// joinBranches writes the join of each step below one that may be skipped: it is skipped, too.
func (d *Draft) joinBranches() {
	skipped := map[string]bool{}
	for _, each := range d.Steps {
		for _, dep := range each.Deps {
			if skipped[dep] && each.Join == "" {
				each.Join = "success"
			}
		}
		skipped[each.ID] = each.When != "" || each.Join != ""
	}
}

// compact drops empty and repeated values.
func compact[T comparable](values []T) (kept []T) {
	var none T
	seen := map[T]bool{none: true}
	for _, each := range values {
		if !seen[each] {
			kept, seen[each] = append(kept, each), true
		}
	}
	return kept
}

// Decline makes tasks of the steps whose commands .savant/ci.yaml does not have: known are
// the commands that it has.
func (d *Draft) Decline(known map[string]any) {
	scripts := map[any]string{}
	for _, command := range d.Commands {
		if _, has := known[command.Name]; !has {
			scripts[command.Name] = command.Run[len(command.Run)-1]
		}
	}
	declined := map[string]bool{}
	for _, step := range d.Steps {
		if script, is := scripts[step.Input["name"]]; is && step.Call == callCommand {
			step.Call, step.Witness, declined[step.ID] = callGenerate, "", true
			step.Input = map[string]any{"task": "Run this as .savant/ci.yaml or the person allows it, and say what came of it:\n" + script}
		}
	}
	for i := range d.Units {
		if declined[d.Units[i].Step] {
			d.Units[i].Verdict, d.Units[i].Why = Asked, "the command is not in .savant/ci.yaml: --yes adds it"
		}
	}
}
