package sessions

import (
	"context"
	"slices"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
	"savant/rules"
	"savant/think/flow"
)

// question is what a person is asked about the exact call of a session.
type question struct {
	record
	waits, declined bool
	left            int
	given, within   int64 // when a person agreed, and how far that reaches
}

// questionOf names a question: by the session, the tool, the arguments and the text.
func questionOf(verdict rules.Verdict) string {
	digest, err := jsonvalue.Digest(map[string]any{"session": verdict.Call.Session, "tool": verdict.Call.Tool, "input": verdict.Call.Input, "texts": verdict.Questions()})
	if err != nil { // the call was decoded from JSON
		return ""
	}
	return questionStart + digest[:16]
}

// questionStart begins the name of a question, and of no run.
const questionStart = "call:"

// IsQuestion reports whether a name is that of a question about a call.
func IsQuestion(name string) bool { return strings.HasPrefix(name, questionStart) }

// answer takes a person's answer in. It counts beside what an earlier one left.
func (q *question) answer(read record) {
	q.waits, q.declined = false, read.Grant == nil
	if read.Grant == nil {
		q.left = 0
		return
	}
	q.left, q.given, q.within = max(q.left, 0)+read.Grant.Most, read.Time, read.Grant.Within
}

// agreed reports whether a person's approval is left.
func (q *question) agreed(now int64) bool { return q != nil && !q.waits && !q.declined && !q.over(now) }

// over reports whether nothing is left of an approval, also where a clock was ahead when it was
// given.
func (q *question) over(now int64) bool {
	return !q.declined && (q.left < 1 || max(now-q.given, q.given-now) >= q.within)
}

// maxQuestion bounds what a person is shown of a call, in bytes. A longer call cannot be
// approved: the person would not see all of it.
const maxQuestion = 8000

// approve asks a person about the exact call: by a form of the client, or for the agent at
// the terminal. Where nobody can be asked now, the question waits for savant approve and
// the hub, and the call may be made again after the answer.
func (k *Keeper) approve(ctx context.Context, call engines.Call, verdict rules.Verdict) error {
	tool, text := verdict.Call.Tool, visible.Line(strings.Join(verdict.Questions(), " "))
	input, err := jsonvalue.Encode(verdict.Call.Input)
	if err != nil {
		return fault.New(fault.Internal, "encoding a call: %w", err)
	}
	if len(text)+len(input) > maxQuestion {
		return fault.New(fault.ApprovalRequired, "%s was not called: a person is asked, and its arguments are too long to be shown", tool)
	}
	name, err := k.note(ctx, verdict)
	if err != nil {
		return err
	}
	agreed, answered, by := false, false, "form"
	if call.Person != nil {
		agreed, answered = engines.AskToCall(ctx, call.Person, text+"\n\n"+tool+" "+visible.Line(string(input)))
	}
	switch {
	case answered:
	case call.Person == nil && k.options.Approver != nil && call.Agent.RunID != "":
		by = "terminal"
		agreed, err = k.options.Approver.Approve(ctx, tool+" ("+text+")", input)
	default:
		return fault.New(fault.ApprovalRequired, "%s was not called: a person is asked (%s) and answers in the hub, or with: savant approve %s. Then make the same call again.", tool, text, name).
			Attach("rules", verdict.Summaries().Brief()).Attach("question", name)
	}
	if err != nil {
		return err
	}
	_, err = k.Answer(ctx, name, agreed, by)
	return err
}

// note writes down that a person is asked, unless the same is asked already.
func (k *Keeper) note(ctx context.Context, verdict rules.Verdict) (name string, err error) {
	name = questionOf(verdict)
	return name, k.locked(ctx, verdict.Call, func() error {
		if known := k.asked[name]; known != nil && known.waits {
			return nil
		}
		grant := verdict.Grant()
		added := k.begun("", verdict.Call)
		added.Kind, added.Process, added.Question, added.Texts, added.Grant, added.Rules = kindAsked, "", name, verdict.Questions(), &grant, verdict.Summaries()
		return k.write(added)
	})
}

// Question is a question about a call that waits for a person.
type Question struct {
	Name    string         `json:"question"`
	Session string         `json:"session"`
	Tool    string         `json:"tool"`
	Input   map[string]any `json:"input"`
	Texts   []string       `json:"texts"`
	Grant   flow.Grant     `json:"grant"`
	Time    int64          `json:"time"`
}

// Answer records a person's answer to a question that waits: INVALID_TRANSITION where
// none of this name does.
func (k *Keeper) Answer(ctx context.Context, name string, agreed bool, by string) (Question, error) {
	questions, err := k.Questions()
	if err != nil {
		return Question{}, err
	}
	at := slices.IndexFunc(questions, func(each Question) bool { return each.Name == name })
	if at < 0 {
		return Question{}, fault.New(fault.InvalidTransition, "no question %s waits for a person", fault.Cut(name, 60))
	}
	asked := questions[at]
	if _, err := k.Set(); err != nil {
		return asked, err
	}
	return asked, k.locked(ctx, rules.Call{Session: asked.Session}, func() error {
		if known := k.asked[name]; known == nil || !known.waits {
			return fault.New(fault.InvalidTransition, "question %s was meanwhile answered elsewhere", name)
		}
		added := record{Kind: kindAnswer, Session: asked.Session, Question: name, Time: k.options.Now().UnixMilli(), By: by}
		if agreed {
			added.Grant = &asked.Grant
		}
		return k.write(added)
	})
}
