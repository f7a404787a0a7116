package reasoning

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
)

// Question is the step of a workflow that a request asks to be answered. Without
// one a request asks what an agent does next.
//
// Goal then holds the Task and, below InputMark, the data of the step as a JSON
// object: a service that knows nothing of questions still sees all of it.
type Question struct {
	Workflow string `json:"workflow,omitempty"`
	// StepID names the unit: the step, or one item of a loop (read_0). Attempt
	// counts from 1. Issued is the version of the run that handed the unit out: a
	// reset hands it out anew.
	StepID  string `json:"step_id"`
	Attempt int    `json:"attempt"`
	Issued  int    `json:"issued,omitempty"`
	// Task is what to do. It is never shortened.
	Task string `json:"task"`
	// Schema is the JSON Schema that the answer has to fit; empty: any answer fits.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// InputMark stands in a goal between the task and the data.
const InputMark = "\n\nInput:\n"

// Ask makes a request a question: its goal is the task and the data. An input is
// {task, …}, and the rest of it is the data. An input of another form is the task as
// a whole.
func (r Request) Ask(question Question, input json.RawMessage) Request {
	var members map[string]json.RawMessage
	question.Task = "Input:\n" + string(input)
	r.Goal = question.Task
	if json.Unmarshal(input, &members) == nil {
		var task string
		if json.Unmarshal(members["task"], &task) == nil && strings.TrimSpace(task) != "" {
			delete(members, "task")
			question.Task, r.Goal = task, task
			if len(members) > 0 {
				data, err := jsonvalue.Encode(members)
				if err != nil {
					panic("reasoning: what was JSON does not encode: " + err.Error())
				}
				r.Goal += InputMark + string(data)
			}
		}
	}
	r.Question = &question
	return r
}

// Data returns what the goal of a question holds beside its task: a JSON object, or
// nothing.
func (r Request) Data() string {
	if r.Question == nil {
		return ""
	}
	rest := strings.TrimPrefix(r.Goal, r.Question.Task)
	return strings.TrimPrefix(rest, InputMark)
}

// Key names what is asked, so that a service that keeps its answers by key is paid
// once for each. The key of an agent's request has run and step. That of a question
// has run, unit and attempt, and a digest of the rest, since a run id is only unique
// within a workflow, and can be used again once its run is deleted: two questions
// have the same key only if the same is asked.
func (r Request) Key() string {
	if r.Question == nil {
		return r.RunID + "/" + strconv.Itoa(r.Step)
	}
	q := *r.Question
	digest := sha256.New()
	for _, part := range append([]string{q.Workflow, strconv.Itoa(q.Issued), r.Goal, string(q.Schema)}, r.Policy.Notes...) {
		digest.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return strings.Join([]string{r.RunID, q.StepID, strconv.Itoa(q.Attempt), hex.EncodeToString(digest.Sum(nil)[:8])}, "/")
}
