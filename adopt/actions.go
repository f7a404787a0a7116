package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// Decode reads YAML as JSON values, and says where they are.
type Decode func(name string, text []byte) (any, fault.Places, error)

// readActions reads the jobs of a workflow of GitHub Actions, or the steps of an action.
func (d *Draft) readActions(name string, text []byte, decode Decode) error {
	d.Kind = "actions"
	value, places, err := decode(name, text)
	if err != nil {
		return err
	}
	root, _ := value.(map[string]any)
	jobs, _ := root["jobs"].(map[string]any)
	a := &actions{draft: d, places: places, at: "jobs.", last: map[string]string{}, given: map[string]string{}, lines: strings.Split(string(text), "\n")}
	if runs, is := root["runs"].(map[string]any); is && runs["steps"] != nil {
		a.at, jobs = "", map[string]any{"runs": runs}
	}
	if len(jobs) == 0 {
		return fault.New(fault.InvalidParams, "%s: it has no jobs; of .yml files adopt reads workflows and composite actions of GitHub Actions, and no pipelines of GitLab or others: write their jobs as a list in a .md file", name)
	}
	a.inputs(root)
	if title, is := root["name"].(string); is {
		d.Description = title
	}
	names := slices.Collect(maps.Keys(jobs))
	slices.SortFunc(names, func(x, y string) int { return a.line(a.at+x) - a.line(a.at+y) })
	for len(names) > 0 {
		left := slices.DeleteFunc(slices.Clone(names), func(each string) bool { return a.job(each, jobs) })
		if len(left) == len(names) {
			return fault.New(fault.CyclicDependency, "%s: the jobs %s need each other or a job that does not exist", name, strings.Join(names, ", "))
		}
		names = left
	}
	a.giveInputs()
	return nil
}

// maxInputs bounds the inputs that become parameters.
const maxInputs = 100

// inputs makes parameters of the inputs of a workflow or an action: texts, as Actions has them.
func (a *actions) inputs(root map[string]any) {
	on, _ := root["on"].(map[string]any)
	call, _ := on["workflow_call"].(map[string]any)
	dispatch, _ := on["workflow_dispatch"].(map[string]any)
	for i, from := range []map[string]any{root, dispatch, call} {
		inputs, _ := from["inputs"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(inputs)) {
			line := a.line([]string{"", "on.workflow_dispatch.", "on.workflow_call."}[i] + "inputs." + name)
			switch {
			case a.given[name] != "": // another way to start it has it, too
			case len(a.given) == maxInputs:
				a.draft.note(line, "input: "+name, LeftOut, "", "more than "+strconv.Itoa(maxInputs)+" inputs are too many")
			default:
				input, _ := inputs[name].(map[string]any)
				a.given[name] = a.draft.params.give(identifier(name, "input", 40))
				a.draft.Params[a.given[name]] = string(jsonvalue.Encoded(inputSchema(input)))
				a.draft.note(line, "input: "+name, Enforced, "", "it is the parameter "+a.given[name]+", and tasks that name it have its value")
			}
		}
	}
}

// inputSchema is the schema of an input.
func inputSchema(input map[string]any) map[string]any {
	schema := map[string]any{"type": "string"}
	var options []string
	list, _ := input["options"].([]any)
	for _, each := range list {
		options = append(options, fmt.Sprint(each))
	}
	if value := input["default"]; value != nil {
		schema["default"] = fmt.Sprint(value)
		options = append(options, fmt.Sprint(value))
	} else if input["required"] == true {
		schema["required"] = true
	}
	if len(list) > 0 {
		schema["enum"] = compact(options)
	}
	if text, is := input["description"].(string); is && text != "" {
		schema["description"] = text
	}
	return schema
}

// giveInputs gives each task the values of the inputs that it names.
func (a *actions) giveInputs() {
	for _, step := range a.draft.Steps {
		task, _ := step.Input["task"].(string)
		values := map[string]any{}
		for name, param := range a.given {
			if strings.Contains(task, "inputs."+name) {
				values[name] = "{{ params." + param + " }}"
			}
		}
		if len(values) > 0 {
			step.Input["inputs"] = values
		}
	}
}

// actions reads jobs one by one; last is the step that ends each job that was read.
type actions struct {
	draft  *Draft
	places fault.Places
	at     string // the path above the jobs
	last   map[string]string
	given  map[string]string // the parameters of the inputs
	lines  []string
}

func (a *actions) line(path string) int {
	return max(1, a.places[path].Line)
}

// quote returns the line of the document that a unit begins with.
func (a *actions) quote(line int) string {
	if line > len(a.lines) {
		return ""
	}
	return strings.TrimSpace(a.lines[line-1])
}

// job reads one job if those that it needs were read.
func (a *actions) job(name string, jobs map[string]any) (read bool) {
	job, _ := jobs[name].(map[string]any)
	var needs []string
	for _, each := range jsonvalue.Texts(job["needs"]) {
		if a.last[each] == "" {
			return false
		}
		needs = append(needs, a.last[each])
	}
	path := a.at + name
	line := a.line(path)
	begin, when, join := needs, "", ""
	if len(needs) > 0 {
		join = "success"
	}
	if condition, is := job["if"].(string); is {
		begin, when, join = a.condition(name, condition, a.line(path+".if"), needs)
	}
	foreach := a.matrix(name, job)
	previous := ""
	follow := func(s *Step) {
		if previous == "" {
			s.Deps, s.When, s.Join = compact(begin), when, join
		} else { // the first step of the job has waited for the jobs before it
			s.Deps, s.Join = []string{previous}, cmp.Or(s.Join, "success")
		}
		s.Foreach, previous = foreach, s.ID
	}
	if step := a.prepare(name, job); step != nil {
		follow(step)
	}
	steps, _ := job["steps"].([]any)
	for i, each := range steps {
		one, _ := each.(map[string]any)
		if step := a.step(name, one, a.line(fmt.Sprintf("%s.steps[%d]", path, i))); step != nil {
			follow(step)
		}
	}
	if reusable, is := job["uses"].(string); is {
		step := a.draft.task(name+" uses", "Do what the reusable workflow "+reusable+" does"+given(job)+".", line, a.quote(line))
		follow(step)
		a.draft.note(line, name, Asked, step.ID, "uses: another workflow is done by the model")
	}
	if step := a.outputs(name, job); step != nil {
		follow(step)
	}
	end := a.draft.add(&Step{ID: name, Call: callSet, Input: map[string]any{"value": "the job " + name + " is done"}, Line: line, Quote: a.quote(line)})
	follow(end)
	end.Foreach = ""
	a.last[name] = end.ID
	a.draft.note(line, name, Enforced, end.ID, "the job ends with this step, on which the jobs that need it depend")
	return true
}

// around are keys of a job that say what is around its steps.
var around = []string{"environment", "container", "services", "env", "defaults"}

// prepare makes a task of what a job says that is around its steps.
func (a *actions) prepare(name string, job map[string]any) (step *Step) {
	said := map[string]any{}
	line := 0
	for _, key := range around {
		if value := job[key]; value != nil {
			said[key], line = value, cmp.Or(line, a.line(a.at+name+"."+key))
		}
	}
	if len(said) == 0 {
		return nil
	}
	step = a.draft.task(name+" prepare", "Prepare this for the job "+name+": "+string(jsonvalue.Encoded(said)), line, a.quote(line))
	for _, key := range slices.Sorted(maps.Keys(said)) {
		a.draft.note(a.line(a.at+name+"."+key), key, Asked, step.ID, "the model prepares it")
	}
	return step
}

// outputs makes a question of the outputs of a job.
func (a *actions) outputs(name string, job map[string]any) *Step {
	values, _ := job["outputs"].(map[string]any)
	if len(values) == 0 {
		return nil
	}
	line := a.line(a.at + name + ".outputs")
	step := a.draft.task(name+" outputs", "Give the outputs of the job "+name+" as texts: "+string(jsonvalue.Encoded(values)), line, a.quote(line))
	required, properties := []any{}, map[string]any{}
	for _, each := range slices.Sorted(maps.Keys(values)) {
		required, properties[each] = append(required, each), map[string]any{"type": "string"}
		a.draft.note(a.line(a.at+name+".outputs."+each), "outputs: "+each, Enforced, step.ID, "a schema asks the model for it")
	}
	step.Schema = map[string]any{"type": "object", "required": required, "properties": properties}
	return step
}

// given is what a step or job gives to what it uses.
func given(to map[string]any) string {
	if to["with"] == nil {
		return ""
	}
	return ", with " + string(jsonvalue.Encoded(to["with"]))
}

// condition reads the if of a job: what its first step depends on, and when it begins.
func (a *actions) condition(job, text string, line int, needs []string) (deps []string, when, join string) {
	join, when, rest := joinOf(text)
	if rest == "" {
		a.draft.note(line, "if: "+text, Enforced, identifier(job, "job", 40), "join: "+join)
		return needs, when, join
	}
	step := a.draft.question("if "+job, "Answer yes or no: does this hold for this run? "+rest, line, a.quote(line), []string{"yes", "no"}, needs...)
	if len(needs) > 0 {
		step.Join = join
	}
	a.draft.note(line, "if: "+text, Asked, step.ID, "the expression of Actions is a question with yes and no")
	return []string{step.ID}, step.Capture + "?.answer == 'yes'", "success"
}

// joinOf reads a condition: how what has it joins what is before, when it begins, and what of
// the condition neither of them says. A function such as always() lets it begin in any case.
func joinOf(condition string) (join, when, rest string) {
	plain := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(condition), "${{"), "}}"))
	switch plain {
	case "", "success()":
		return "success", "", ""
	case "always()", "!cancelled()":
		return "done", "", ""
	case "failure()":
		return "done", "run.status == 'failing'", ""
	}
	for _, each := range []string{"always()", "failure()", "!cancelled()"} {
		if strings.Contains(plain, each) {
			return "done", "", plain
		}
	}
	return "success", "", plain
}

// matrix returns the list that a job is done for; "" for none.
func (a *actions) matrix(name string, job map[string]any) string {
	strategy, _ := job["strategy"].(map[string]any)
	matrix, _ := strategy["matrix"].(map[string]any)
	line := a.line("jobs." + name + ".strategy")
	further := map[string][]map[string]any{}
	for _, key := range []string{"include", "exclude"} {
		list, is := matrix[key].([]any)
		if matrix[key] != nil && (!is || len(list) > maxRows) {
			a.draft.note(line, "matrix: "+key, LeftOut, "", "its values are computed, or more than "+strconv.Itoa(maxRows))
			continue
		}
		for _, each := range list {
			row, _ := each.(map[string]any)
			further[key] = append(further[key], row)
		}
	}
	axes := slices.DeleteFunc(slices.Sorted(maps.Keys(matrix)), func(each string) bool { return each == "include" || each == "exclude" })
	rows := []map[string]any{{}}
	for _, axis := range axes {
		values, is := matrix[axis].([]any)
		if !is {
			a.draft.note(line, "matrix: "+axis, LeftOut, "", "its values are computed")
			return ""
		}
		if len(rows)*len(values) > maxRows {
			a.draft.note(line, "matrix: "+axis, LeftOut, "", "more than "+strconv.Itoa(maxRows)+" rows are too many")
			return ""
		}
		var more []map[string]any
		for _, row := range rows {
			for _, value := range values {
				made := maps.Clone(row)
				made[axis] = value
				more = append(more, made)
			}
		}
		rows = more
	}
	rows = slices.DeleteFunc(rows, func(row map[string]any) bool {
		return len(axes) == 0 || slices.ContainsFunc(further["exclude"], func(each map[string]any) bool { return partOf(each, row) })
	})
	rows = included(rows, axes, further["include"])
	if len(rows) == 0 {
		return ""
	}
	a.draft.note(line, "matrix: "+strings.Join(slices.Sorted(maps.Keys(matrix)), ", "), Enforced, identifier(name, "job", 40), "foreach over "+strconv.Itoa(len(rows))+" rows")
	param := a.draft.params.give(identifier(name+" rows", "job", 40))
	a.draft.Params[param] = string(jsonvalue.Encoded(map[string]any{"type": "array", "default": rows}))
	return "params." + param
}

// maxRows bounds the rows of a matrix, as Actions does.
const maxRows = 256

// included adds the rows of include: each to the rows whose axes it does not change, else as
// a row of its own.
func included(rows []map[string]any, axes []string, include []map[string]any) []map[string]any {
	own := len(rows)
	for _, each := range include {
		onAxes := maps.Clone(each)
		maps.DeleteFunc(onAxes, func(key string, _ any) bool { return !slices.Contains(axes, key) })
		added := false
		for _, row := range rows[:own] {
			if partOf(onAxes, row) {
				maps.Copy(row, each)
				added = true
			}
		}
		if !added {
			rows = append(rows, each)
		}
	}
	return rows
}

// partOf reports whether a value has all of a part; of maps the members that the part has.
func partOf(part, value any) bool {
	members, is := part.(map[string]any)
	if !is {
		return reflect.DeepEqual(part, value)
	}
	object, _ := value.(map[string]any)
	for key, each := range members {
		if other, there := object[key]; !there || !partOf(each, other) {
			return false
		}
	}
	return true
}

var secret = pattern.Lazy(`\$\{\{[^}]*\bsecrets\.`)

// plainKeys are those of a step that a command of .savant/ci.yaml can carry out.
var plainKeys = []string{"name", "id", "run", "shell"}

// step reads one step of a job. What is not a plain command is a task that says all of it.
func (a *actions) step(job string, step map[string]any, line int) *Step {
	title, _ := step["name"].(string)
	run, isCommand := step["run"].(string)
	uses, isAction := step["uses"].(string)
	condition, _ := step["if"].(string)
	rest := maps.Clone(step)
	maps.DeleteFunc(rest, func(key string, _ any) bool {
		return slices.Contains(plainKeys, key) || key == "uses" || key == "with" || key == "if"
	})
	shell := fmt.Sprint(cmp.Or(step["shell"], any("sh")))
	join, when, only := joinOf(condition)
	if when != "" { // a step that is skipped would skip those after it
		only = "failure()"
	}
	switch {
	case only != "":
		a.draft.note(line, "if: "+condition, Asked, identifier(job, "job", 40), "the model decides whether it holds")
		only = "Only where this holds for this run, else say that it does not: " + only + ". "
	case condition != "":
		a.draft.note(line, "if: "+condition, Enforced, identifier(job, "job", 40), "join: "+join)
	}
	var made *Step
	switch what := cmp.Or(title, uses, fault.Cut(run, 200)); {
	case isCommand && len(rest) == 0 && only == "" && (shell == "sh" || shell == "bash") && !strings.Contains(run, "${{"):
		name := a.draft.commandOf(cmp.Or(title, run), shell, run, line)
		made = a.draft.add(&Step{ID: job + " " + name, Call: callCommand, Input: map[string]any{"name": name}, Witness: "required", Line: line, Quote: a.quote(line)})
		a.draft.note(line, what, Enforced, made.ID, "the command "+name+" of .savant/ci.yaml is run, and Savant sees the call")
	case isCommand:
		if shell != "sh" {
			rest["shell"] = shell
		}
		why := "it has expressions of Actions or more than commands, so the model does it"
		if secret().Match(jsonvalue.Encoded(step)) {
			why = "it takes secrets, which are the person's to give"
		}
		made = a.draft.task(job+" "+what, only+"Do what these commands do; what stands in ${{ }} are values of GitHub Actions:\n"+run+saidToo(rest), line, a.quote(line))
		a.draft.note(line, what, Asked, made.ID, why)
	case isAction:
		made = a.draft.task(job+" "+what, only+"Do what the action "+uses+" does"+given(step)+"."+saidToo(rest), line, a.quote(line))
		a.draft.note(line, what, Asked, made.ID, "uses: an action is done by the model")
	default:
		a.draft.note(line, cmp.Or(title, "a step"), LeftOut, "", "it has neither run nor uses")
		return nil
	}
	made.Join = join
	return made
}

// saidToo is what else a step says.
func saidToo(rest map[string]any) string {
	if len(rest) == 0 {
		return ""
	}
	return "\nIts other keys: " + string(jsonvalue.Encoded(rest))
}
