package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// Decode reads YAML as JSON values, and says where they are.
type Decode func(name string, text []byte) (any, fault.Places, error)

// readActions reads the jobs of a workflow of GitHub Actions.
func (d *Draft) readActions(name string, text []byte, decode Decode) error {
	d.Kind = "actions"
	value, places, err := decode(name, text)
	if err != nil {
		return err
	}
	root, _ := value.(map[string]any)
	jobs, _ := root["jobs"].(map[string]any)
	if len(jobs) == 0 {
		return fault.New(fault.InvalidParams, "%s: it has no jobs; adopt reads workflows of GitHub Actions from .yml files", name)
	}
	if title, is := root["name"].(string); is {
		d.Description = title
	}
	a := &actions{draft: d, places: places, last: map[string]string{}, lines: strings.Split(string(text), "\n")}
	names := slices.Collect(maps.Keys(jobs))
	slices.SortFunc(names, func(x, y string) int { return a.line("jobs."+x) - a.line("jobs."+y) })
	for len(names) > 0 {
		left := slices.DeleteFunc(slices.Clone(names), func(each string) bool { return a.job(each, jobs) })
		if len(left) == len(names) {
			return fault.New(fault.CyclicDependency, "%s: the jobs %s need each other or a job that does not exist", name, strings.Join(names, ", "))
		}
		names = left
	}
	return nil
}

// actions reads jobs one by one; last is the step that ends each job that was read.
type actions struct {
	draft  *Draft
	places fault.Places
	last   map[string]string
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
	line := a.line("jobs." + name)
	begin, when, join := needs, "", ""
	if len(needs) > 0 {
		join = "success"
	}
	if condition, is := job["if"].(string); is {
		begin, when, join = a.condition(name, condition, a.line("jobs."+name+".if"), needs)
	}
	foreach := a.matrix(name, job)
	steps, _ := job["steps"].([]any)
	enter := func(s *Step) {
		s.Deps, s.When, s.Join = compact(begin), when, join
		s.Foreach = foreach
	}
	previous := ""
	for i, each := range steps {
		one, _ := each.(map[string]any)
		path := fmt.Sprintf("jobs.%s.steps[%d]", name, i)
		made := a.step(name, one, a.line(path))
		if made == nil {
			continue
		}
		enter(made)
		if previous != "" { // the first step of the job has waited for the jobs before it
			made.Deps, made.Join = []string{previous}, "success"
		}
		previous = made.ID
	}
	if reusable, is := job["uses"].(string); is {
		made := a.draft.task(name, "Do what the reusable workflow "+reusable+" does.", line, a.quote(line))
		enter(made)
		a.last[name] = made.ID
		a.draft.note(line, name, Asked, made.ID, "uses: another workflow is done by the model")
		return true
	}
	end := a.draft.add(&Step{ID: name, Call: callSet, Input: map[string]any{"value": "the job " + name + " is done"}, Line: line, Quote: a.quote(line)})
	enter(end)
	end.Foreach = ""
	if previous != "" {
		end.Deps, end.Join = []string{previous}, "success"
	}
	a.last[name] = end.ID
	a.draft.note(line, name, Enforced, end.ID, "the job ends with this step, on which the jobs that need it depend")
	return true
}

// condition reads the if of a job: what its first step depends on, and when it begins.
func (a *actions) condition(job, text string, line int, needs []string) (deps []string, when, join string) {
	plain := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "${{"), "}}"))
	switch plain {
	case "always()", "!cancelled()":
		a.draft.note(line, "if: "+text, Enforced, identifier(job, "job", 40), "join: done")
		return needs, "", "done"
	case "failure()":
		a.draft.note(line, "if: "+text, Enforced, identifier(job, "job", 40), "join: done, when something failed")
		return needs, "run.status == 'failing'", "done"
	case "success()", "":
		return needs, "", "success"
	}
	asked := a.draft.question("if "+job, "Answer yes or no: does this hold for this run? "+plain, line, a.quote(line), []any{"yes", "no"}, needs...)
	if len(needs) > 0 {
		asked.Join = "success"
	}
	a.draft.note(line, "if: "+text, Asked, asked.ID, "the expression of Actions is a question with yes and no")
	return []string{asked.ID}, asked.Capture + "?.answer == 'yes'", "success"
}

// matrix returns the list that a job is done for; "" for none.
func (a *actions) matrix(name string, job map[string]any) string {
	strategy, _ := job["strategy"].(map[string]any)
	matrix, _ := strategy["matrix"].(map[string]any)
	line := a.line("jobs." + name + ".strategy")
	axes := slices.DeleteFunc(slices.Sorted(maps.Keys(matrix)), func(each string) bool {
		further := each == "include" || each == "exclude"
		if further {
			a.draft.note(line, "matrix: "+each, LeftOut, "", "rows beside those of the axes are not taken: change the list of foreach")
		}
		return further
	})
	rows := []map[string]any{{}}
	for _, axis := range axes {
		values, is := matrix[axis].([]any)
		if !is {
			a.draft.note(line, "matrix: "+axis, LeftOut, "", "its values are computed")
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
	if len(rows) > 256 {
		a.draft.note(line, "matrix: "+strings.Join(axes, ", "), LeftOut, "", strconv.Itoa(len(rows))+" rows are too many")
	}
	if len(axes) == 0 || len(rows) > 256 {
		return ""
	}
	encoded, err := jsonvalue.Encode(rows)
	if err != nil {
		return ""
	}
	a.draft.note(line, "matrix: "+strings.Join(axes, ", "), Enforced, identifier(name, "job", 40), "foreach over "+strconv.Itoa(len(rows))+" rows")
	return string(encoded)
}

var secret = pattern.Lazy(`\$\{\{[^}]*\bsecrets\.`)

// step reads one step of a job.
func (a *actions) step(job string, step map[string]any, line int) *Step {
	title, _ := step["name"].(string)
	run, isCommand := step["run"].(string)
	uses, isAction := step["uses"].(string)
	switch {
	case isCommand && !strings.Contains(run, "${{"):
		name := identifier(cmp.Or(title, run), "command", 40)
		for number, base := 2, name; a.draft.command(name); number++ {
			name = base + "_" + strconv.Itoa(number)
		}
		a.draft.Commands = append(a.draft.Commands, Command{Name: name, Run: []string{"sh", "-ec", run}, Line: line})
		made := a.draft.add(&Step{ID: job + " " + name, Call: callCommand, Input: map[string]any{"name": name}, Witness: "required", Line: line, Quote: a.quote(line)})
		a.draft.note(line, cmp.Or(title, fault.Cut(run, 200)), Enforced, made.ID, "the command "+name+" of .savant/ci.yaml is run, and Savant sees the call")
		return made
	case isCommand:
		why := "it has expressions of Actions, so the model does it"
		if secret().MatchString(run) {
			why = "it takes secrets, which are the person's to give"
		}
		made := a.draft.task(job+" "+cmp.Or(title, run), "Do what these commands do; what stands in ${{ }} are values of GitHub Actions:\n"+run, line, a.quote(line))
		a.draft.note(line, cmp.Or(title, fault.Cut(run, 200)), Asked, made.ID, why)
		return made
	case isAction:
		given, _ := jsonvalue.Encode(step["with"])
		task := "Do what the action " + uses + " does"
		if len(given) > 0 && string(given) != "null" {
			task += ", with " + string(given)
		}
		made := a.draft.task(job+" "+cmp.Or(title, uses), task+".", line, a.quote(line))
		a.draft.note(line, cmp.Or(title, uses), Asked, made.ID, "uses: an action is done by the model")
		return made
	}
	a.draft.note(line, cmp.Or(title, "a step"), LeftOut, "", "it has neither run nor uses")
	return nil
}
