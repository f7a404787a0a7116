package think

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
	"savant/schemas"
	"savant/think/flow"
	"savant/think/form"
)

// Pending is a step that waits for a person.
type Pending struct {
	Workflow string `json:"workflow"`
	RunID    string `json:"run_id"`
	StepID   string `json:"step_id"`
	Call     string `json:"call"`
	Message  string `json:"message"`
	// Input is everything that the person is shown.
	Input any `json:"input"`
	// Digest binds an answer to exactly this.
	Digest string `json:"digest"`
	// Approvers may answer; empty: everybody. Count different persons have to agree, where
	// it is more than one; Agreed did already.
	Approvers []string `json:"approvers,omitempty"`
	Count     int      `json:"count,omitempty"`
	Agreed    []string `json:"agreed,omitempty"`
	// Since is when the question was asked. Due is remind or escalate once the step's
	// remind_after or escalate_after has passed.
	Since time.Time `json:"since,omitzero"`
	Due   string    `json:"due,omitempty"`
	// Schema is the schema of an answer to human.ask: that of its input, else the step's
	// success_schema. nil allows any text.
	Schema any `json:"schema,omitempty"`

	written []byte // Schema as it is written
}

// Form returns the fields that the answer to human.ask, or about an unknown outcome, is
// filled in at.
func (p Pending) Form() form.Form { return form.New(p.written) }

// Admits says why a person's answer, or their no, would not be taken: APPROVAL_REQUIRED.
func (p Pending) Admits(person string, declines bool) error {
	return (&flow.Approval{Approvers: p.Approvers, Count: p.Count}).Admits(p.StepID, person, p.Agreed, declines)
}

// Pending returns the steps of a run that wait for a person, in declaration
// order. UNKNOWN_RUN, RUN_CANCELLED.
func (e *Engine) Pending(ctx context.Context, workflow, run string) ([]Pending, error) {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	list := l.pending()
	for i := range list {
		if next, found := l.issued(list[i].StepID); found && !list[i].Since.IsZero() {
			list[i].Due = next.Approval.Due(e.Now().Sub(list[i].Since).Milliseconds())
		}
	}
	return list, l.run.Cancelled()
}

func (l *live) pending() []Pending {
	var list []Pending
	for _, next := range l.now.Instructions {
		if next.Outcome != "" {
			list = append(list, l.whatHappened(next))
			continue
		}
		if next.Shown == "" {
			continue
		}
		p := Pending{Workflow: l.key.Workflow, RunID: l.key.Run, StepID: next.StepID, Call: next.Call, Input: next.Input, Digest: next.Shown, written: next.Asked, Since: l.times[next.Version], Agreed: next.Agreed}
		if a := next.Approval; a != nil {
			p.Approvers, p.Count = a.Approvers, a.Count
		}
		input, _ := next.Input.(map[string]any)
		p.Message, _ = input["message"].(string)
		if p.Schema = input["schema"]; p.Schema == nil && flow.AnsweringOf(p.Call) == flow.FillsIn {
			p.Schema = next.SuccessSchema
		}
		list = append(list, p)
	}
	return list
}

// whatHappened asks a person about a call of which it is not known whether it had an
// effect.
func (l *live) whatHappened(next flow.Instruction) Pending {
	p := Pending{Workflow: l.key.Workflow, RunID: l.key.Run, StepID: next.StepID, Call: next.Call, Digest: next.Stated, Since: l.times[next.Version],
		Message: "It is not known whether the call of " + next.Call + " had an effect. Find out. If it had none, it is issued again.",
		Input:   map[string]any{"call": next.Call, "input": next.Input},
		written: []byte(`{"type":"object","required":["unknown_outcome"],"additionalProperties":false,"properties":{` +
			`"unknown_outcome":{"type":"string","description":"what happened","enum":["not_done","done"]},` +
			`"result":{"type":"string","description":"where it was done: its result, JSON or text"}}}`)}
	p.Schema, _ = jsonvalue.Decode(p.written)
	return p
}

// waiting returns the first question to a person, if the run waits only for persons.
func (l *live) waiting() *Pending {
	if list := l.pending(); l.now.Status == flow.Waiting && len(list) > 0 {
		return &list[0]
	}
	return nil
}

// Approve gives a person's answer to a step: {approved, comment} for human.approve, any
// value for human.ask. digest is the digest of the Pending that the person saw.
// APPROVAL_REQUIRED if the question changed since; VALIDATION_FAILED for an invalid
// answer, which is not recorded.
//
// Only callers that act for a person may call it; no tool does.
func (e *Engine) Approve(ctx context.Context, pending Pending, answer any, by Caller) (*Reply, error) {
	return restored(e.approve(ctx, pending, answer, 0, by))
}

// approve gives a person's answer to what they were asked; during is the version
// of the answer whose call asked them, or 0.
func (e *Engine) approve(ctx context.Context, asked Pending, answer any, during int, by Caller) (eventResult, error) {
	l, err := e.open(ctx, asked.Workflow, asked.RunID)
	if err != nil {
		return eventResult{}, err
	}
	defer l.mu.Unlock()
	if err := l.run.Cancelled(); err != nil {
		return eventResult{}, err
	}
	step, err := l.run.View().Step(asked.StepID)
	if err != nil {
		return eventResult{}, err
	}
	meant, differs, asks := l.meant(asked.StepID, answer)
	if differs && !asks {
		answer = meant
	}
	if err = e.check(ctx, l, step, answer, true); errors.Is(err, fault.ValidationFailed) && differs && asks {
		answer, err = meant, e.check(ctx, l, step, meant, true)
	}
	if err != nil {
		return eventResult{}, err
	}
	raw, err := jsonvalue.Encode(answer)
	if err != nil {
		return eventResult{}, fault.New(fault.InvalidParams, "the answer is not JSON: %w", err)
	}
	given := submission{raw: raw, during: during, by: by.attribution(), Answer: flow.Answer{Result: answer, Digest: jsonvalue.HexSum(raw), Person: true, Shown: asked.Digest, By: by.Person(), Witness: flow.WitnessPerson}}
	if err := e.holdAgainstTool(l, step, given); err != nil {
		return eventResult{}, err
	}
	return e.settle(ctx, l, step, given)
}

// meant returns what a person's answer stands for by the form of their question, and
// whether that is another value: "3" where an integer is asked for, and the object or the
// list that a text holds where nothing asks for a text.
func (l *live) meant(step string, answer any) (meant any, differs, asks bool) {
	list := l.pending()
	at := slices.IndexFunc(list, func(p Pending) bool { return p.StepID == step })
	if at < 0 {
		return answer, false, false
	}
	text, isText := answer.(string)
	if asked := clientForm(list[at]).Schema; asked != nil || !isText {
		meant, differs = schemas.ConvertBy(asked, answer)
		return meant, differs, true
	}
	meant = schemas.Normalise(text)
	return meant, jsonvalue.Kind(meant) != "string", false
}

// check validates an answer without applying it.
func (e *Engine) check(ctx context.Context, l *live, step flow.Handle, value any, person bool) error {
	problem, err := query(ctx, e, l.history(), l.run, func() (*fault.Error, []flow.Ref) { return l.run.Check(step, value, person) })
	if problem != nil {
		return problem
	}
	return err
}

// maxForms bounds how many questions one call puts to a person, maxMisfits how often one
// of them is asked again because the answer does not fit.
const (
	maxForms   = 20
	maxMisfits = 3
)

// askPerson converts the result of an event to the reply, after asking the person if
// the run waits for one and the client supports it. The event is durable before the
// question, and the run is not locked during it, because a person may take an hour and
// another terminal may answer first.
func (e *Engine) askPerson(ctx context.Context, replied eventResult, caller Caller) (*Reply, error) {
	ask, during := caller.Ask, replied.version
	misfit, misfits := "", 0 // why the last answer does not fit
	for range maxForms {
		pending := replied.waiting
		if replied.Fault != nil || pending == nil || ask == nil || pending.Admits(caller.Person(), false) != nil {
			break
		}
		answer, elsewhere, err := e.elicitUntilAnswered(ctx, ask, *pending, misfit)
		if elsewhere {
			next, err := e.whereabouts(ctx, *pending)
			if err != nil {
				return nil, err
			}
			replied = next
			continue
		}
		if errors.Is(err, errUnanswered) {
			break
		}
		var next eventResult
		if err == nil {
			next, err = e.approve(ctx, *pending, answer, during, caller)
		}
		if errors.Is(err, fault.StateConflict) || errors.Is(err, fault.InvalidTransition) {
			replied, err = e.whereabouts(ctx, *pending) // answered elsewhere
			return restored(e.located(replied, caller), err)
		}
		if errors.Is(err, fault.ValidationFailed) { // the client's form took what does not fit: the question stands
			e.Logger.Info("a person's answer does not fit the question", "run", pending.RunID, "step", pending.StepID, "error", err)
			if misfits++; misfits > maxMisfits {
				break
			}
			misfit = fault.From(err).Message()
			continue
		}
		if err != nil {
			return nil, err
		}
		replied, misfit, misfits = next, "", 0
	}
	return restored(e.located(replied, caller), nil)
}

// askInHub says where a person answers where nothing else is known.
const askInHub = "Ask them to answer it in the hub (savant hub)"

// waitingNote says in one line where a person answers a step of a run.
func waitingNote(run string, step flow.Instruction) string {
	terminal := ", or to run: savant approve " + run + " " + step.StepID
	if others := step.Approval.Others(ByLocal, step.Agreed); others != "" {
		terminal = " with their own token, since the step takes the answer of " + others
	}
	return "A person must answer this step, not you. " + askInHub + terminal + " — then call think.next with this step_id and no result_snapshot."
}

// AppTool is the tool that shows a question in the client, by the call of its step.
func AppTool(call string) string {
	if flow.AnsweringOf(call) == flow.Decides {
		return "app.approve"
	}
	return "app.ask"
}

// located says in the note of a reply where the person finds the question: the first of
// what the client can.
func (e *Engine) located(replied eventResult, caller Caller) eventResult {
	pending := replied.waiting
	if pending == nil || replied.Fault != nil || replied.Reply == nil {
		return replied
	}
	where := askInHub
	if page := e.page(*pending); page != "" {
		where = "Ask them to answer it in the hub at " + page
	}
	if caller.Apps && pending.Admits(caller.Person(), false) == nil {
		where = "Call " + AppTool(pending.Call) + " {\"workflow\": \"" + pending.Workflow + "\", \"run_id\": \"" + pending.RunID + "\", \"step_id\": \"" + pending.StepID + "\"}, which shows it to them here. Else a" + where[1:]
	}
	changed := *replied.Reply
	changed.Note = strings.Replace(changed.Note, askInHub, where, 1)
	replied.Reply = &changed
	return replied
}

// page is the address of a question in the hub; empty where that of the hub is not known.
func (e *Engine) page(pending Pending) string {
	if e.Hub == nil {
		return ""
	}
	address := e.Hub.URL()
	if address == "" {
		return ""
	}
	return strings.TrimSuffix(address, "/") + "/runs/" + url.PathEscape(pending.Workflow) + "/" + url.PathEscape(pending.RunID)
}

// whereabouts replies with the present state of the run of a question.
func (e *Engine) whereabouts(ctx context.Context, pending Pending) (eventResult, error) {
	l, err := e.open(ctx, pending.Workflow, pending.RunID)
	if err != nil {
		return eventResult{}, err
	}
	defer l.mu.Unlock()
	return e.currentReply(ctx, l)
}

// errUnanswered is returned for a question that the person at the client did not answer.
var errUnanswered = errors.New("the question was not answered")

// elicit puts one question to the person behind the client, after why their last answer
// does not fit. The error is errUnanswered, or VALIDATION_FAILED if nothing was filled in.
func (e *Engine) elicit(ctx context.Context, ask Ask, p Pending, misfit string) (any, error) {
	shown := clientForm(p)
	message, whole := question(p, shown)
	message = again(misfit, message)
	schema := shown.Client()
	if !whole { // the form says where it is shown whole, and what is filled in here answers nothing
		message, schema = tooLong(p, len(message)), json.RawMessage(`{"type":"object","properties":{}}`)
		e.Logger.Info("a question is too long for a form; it waits in the hub and for savant approve", "run", p.RunID, "step", p.StepID)
	}
	answer, err := ask(ctx, Form{Message: message, Schema: schema, URL: e.page(p), Run: p.RunID})
	if err != nil {
		e.Logger.Info("the client did not ask the person", "run", p.RunID, "step", p.StepID, "error", err)
	}
	switch {
	case err == nil && whole && answer.Action == "decline" && !answer.Unseen && flow.AnsweringOf(p.Call) == flow.Decides:
		return map[string]any{"approved": false}, nil
	case err != nil || !whole || answer.Action != "accept":
		return nil, errUnanswered
	}
	content, _ := jsonvalue.Decode(answer.Content)
	filled, _ := content.(map[string]any)
	value, given := shown.FromClient(filled)
	if !given {
		return nil, fault.New(fault.ValidationFailed, "nothing was filled in")
	}
	return value, nil
}

// again puts before a question why the last answer does not fit; misfit is "" at first.
func again(misfit, message string) string {
	if misfit == "" {
		return message
	}
	return "The answer does not fit: " + visible.Line(fault.Cut(misfit, 500)) + "\n" + message
}

// approvalForm is the form of human.approve.
const approvalForm = `{"type":"object","properties":{"approved":{"type":"boolean","title":"Approve"},"comment":{"type":"string","title":"Comment"}},"required":["approved"]}`

// clientForm is the form of a question for a client. Where names or values of its schema
// cannot be seen it has one field, of JSON.
func clientForm(p Pending) form.Form {
	if flow.AnsweringOf(p.Call) == flow.Decides {
		return form.New([]byte(approvalForm))
	}
	if shown := p.Form(); shown.IsVisible() {
		return shown
	}
	return form.New([]byte("{}"))
}

// maxForm is how much a form shows, in bytes. What is longer would be cut by clients
// out of sight; it is answered in the hub or at a terminal, which show all of it.
const maxForm = 8000

// question is the text for the person: the message and everything it concerns, with
// nothing hidden. whole is false if it is too long for a form.
func question(p Pending, shown form.Form) (text string, whole bool) {
	text = quoteLines(p.Message)
	input, _ := p.Input.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(input)) {
		if key == "message" || key == "schema" && flow.AnsweringOf(p.Call) == flow.FillsIn {
			continue
		}
		value, isText := input[key].(string)
		if !isText {
			value = string(jsonvalue.Encoded(input[key]))
		}
		text += "\n" + visible.Line(key) + ": " + quoteLines(value)
	}
	if p.Schema != nil && !shown.Whole() {
		text += "\nschema: " + quoteLines(string(p.written))
	}
	return text + "\n(" + p.Workflow + " " + p.RunID + ", step " + p.StepID + ")", len(text) <= maxForm
}

// tooLong says where a question is answered that a form cannot show whole.
func tooLong(p Pending, size int) string {
	return fmt.Sprintf("Step %s of run %s asks a person. The question has %d bytes, too many for this form, so it cannot be answered here. "+
		"Read and answer it in the hub (savant hub) at /runs/%s/%s, or with savant approve %s %s. Once it is answered there, this call goes on.",
		p.StepID, p.RunID, size, p.Workflow, p.RunID, p.RunID, p.StepID)
}

// quoteLines returns a one-line text unchanged and prefixes the lines of a longer one, so
// that no line can pass for another part of the question.
func quoteLines(text string) string {
	if strings.ContainsRune(strings.TrimSpace(text), '\n') {
		return "\n" + visible.Block(text)
	}
	return visible.Line(text)
}

// Ask shows a form to the person at the client and waits for their response.
type Ask func(ctx context.Context, form Form) (Filled, error)

// Form is a question to a person.
type Form struct {
	Message string
	// Schema is a flat JSON Schema object, as MCP requires.
	Schema json.RawMessage
	// URL is the page of the hub where it is answered too; empty: none is known.
	URL string
	// Run is the run that it is about; empty for none.
	Run string
}

// Filled is the person's response: Action is "accept", "decline" or "cancel"; Content
// is the accepted form.
type Filled struct {
	Action  string
	Content json.RawMessage
	// Unseen: no person saw the question. It is no answer.
	Unseen bool
}
