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
// Goal then contains the Task and, after InputMark, the data of the step as a JSON
// object, so that a service without support for questions still sees everything.
type Question struct {
	Workflow string `json:"workflow,omitempty"`
	// StepID names the unit: the step, or one item of a loop (read_0). Attempt counts from
	// 1. Issued is the version of the run that issued the unit; a reset issues it anew.
	StepID  string `json:"step_id"`
	Attempt int    `json:"attempt"`
	Issued  int    `json:"issued,omitempty"`
	// Task is what to do. It is never shortened.
	Task string `json:"task"`
	// Schema is the JSON Schema of the answer; empty accepts any answer.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Complex asks for the large model.
	Complex bool `json:"complex,omitempty"`
}

// InputMark separates the task from the data in a goal.
const InputMark = "\n\nInput:\n"

// Ask turns a request into a question. The input is {task, …}, whose other members are
// the data; any other input is the task as a whole.
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

// Data returns the data in the goal of a question: a JSON object, or "".
func (r Request) Data() string {
	if r.Question == nil {
		return ""
	}
	rest := strings.TrimPrefix(r.Goal, r.Question.Task)
	return strings.TrimPrefix(rest, InputMark)
}

// Key is the idempotency key: a service that stores answers by key decides each request
// once. An agent's key has run and step. A question's key has run, unit, attempt and a
// digest of the rest, because a run id is only unique within a workflow and may be
// reused after its run is deleted.
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
