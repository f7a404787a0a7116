package think_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/think"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

const askingYAML = `name: asking
version: "1.0"
params: {who: {type: string, required: true}, times: {type: integer, default: 1}}
steps:
  - {id: prepare, call: llm.generate, input_template: {task: "for {{ params.who }}"}, capture_as: plan}
  - {id: sure, call: human.approve, input_template: {message: "Go on with {{ state.plan }}?"}, capture_as: approval}
  - id: colour
    call: human.ask
    input_template: {message: "Which colour?", schema: {type: object, required: [colour], properties: {colour: {enum: [red, blue], type: string}}}}
    capture_as: colour
  - {id: last, call: llm.generate, input_template: {task: "paint {{ state.colour.colour }}"}}
`

// person is a client that puts forms to somebody who answers from a list.
type person struct {
	answers []engines.Answer
	asked   []engines.Elicitation
}

func (p *person) elicit(_ context.Context, form engines.Elicitation) (engines.Answer, error) {
	p.asked = append(p.asked, form)
	if len(p.answers) == 0 {
		return engines.Answer{}, errors.New("nobody is there")
	}
	next := p.answers[0]
	p.answers = p.answers[1:]
	return next, nil
}

func (p *person) caller() think.Caller {
	return guide.Caller(engines.Call{Caller: engines.Caller{Person: engines.PersonFunc(p.elicit)}})
}

func wire(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}

func accept(content string) engines.Answer {
	return engines.Answer{Action: "accept", Content: json.RawMessage(content)}
}

func askingEngine(t *testing.T) *think.Engine {
	t.Helper()
	store, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	engine := think.New(think.Options{
		Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/asking.yaml": {Data: []byte(askingYAML)}}}),
		Store:   store, Now: time.Now, NewID: func() string { return "fresh" }})
	t.Cleanup(func() {
		engine.Close()
		require.NoError(t, store.Close())
	})
	return engine
}

func TestClientThatCanAskFillsParametersAndAnswersForThePerson(t *testing.T) {
	t.Parallel()
	engine := askingEngine(t)
	somebody := &person{answers: []engines.Answer{accept(`{"who":"Ada"}`), accept(`{"approved":true}`), accept(`{"colour":"red"}`)}}
	planned, err := engine.Plan(t.Context(), think.PlanInput{Caller: somebody.caller(), Workflow: "asking", RunID: "r1"})
	require.NoError(t, err)
	require.JSONEq(t, `{"task":"for Ada"}`, string(planned.Instruction.Input))
	answer := think.NextInput{Caller: somebody.caller(), Workflow: "asking", RunID: "r1", StepID: "prepare", ResultSnapshot: json.RawMessage(`"a plan"`)}
	reply, err := engine.Next(t.Context(), answer)
	require.NoError(t, err)
	require.Equal(t, "last", reply.Instruction.StepID)
	require.JSONEq(t, `{"task":"paint red"}`, string(reply.Instruction.Input))
	require.Len(t, somebody.asked, 3)
	require.Contains(t, somebody.asked[1].Message, "Go on with a plan?")

	again, err := engine.Next(t.Context(), answer)
	require.NoError(t, err)
	require.Equal(t, wire(t, reply), wire(t, again), "the same answer twice gives the same reply, the person's part included")
	require.Len(t, somebody.asked, 3, "and nobody is asked twice")
}

// What a client's form took and the step does not is no answer, and no fault of
// the model's, whose result is recorded: the question stands.
// An answer that does not fit is asked for again with the reason, three times; then the run
// still waits, and a later call asks anew.
func TestAnAnswerThatDoesNotFitIsAskedForAgain(t *testing.T) {
	t.Parallel()
	engine := askingEngine(t)
	clumsy := &person{answers: []engines.Answer{accept(`{"approved":"yes"}`), accept(`{"approved":true}`),
		accept(`{"colour":"green"}`), accept(`{"colour":"grey"}`), accept(`{"colour":"black"}`), accept(`{"colour":"white"}`), accept(`{"colour":"red"}`)}}
	_, err := engine.Plan(t.Context(), think.PlanInput{Caller: clumsy.caller(), Workflow: "asking", RunID: "r1", Params: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	reply, err := engine.Next(t.Context(), think.NextInput{Caller: clumsy.caller(), Workflow: "asking", RunID: "r1", StepID: "prepare", ResultSnapshot: json.RawMessage(`1`)})
	require.NoError(t, err)
	require.Equal(t, flow.Waiting, reply.State.Status)
	require.Equal(t, "colour", reply.Instruction.StepID)
	require.Len(t, clumsy.asked, 6, "two for the approval, four for the colour")
	for i, form := range clumsy.asked {
		require.Equal(t, i != 0 && i != 2, strings.HasPrefix(form.Message, "The answer does not fit: "), form.Message)
	}
	require.Contains(t, clumsy.asked[3].Message, "green")
	reply, err = engine.Next(t.Context(), think.NextInput{Caller: clumsy.caller(), Workflow: "asking", RunID: "r1", StepID: "colour"})
	require.NoError(t, err)
	require.Equal(t, "last", reply.Instruction.StepID)
}

// A client's form may hold the text of a number or a boolean, for parameters and answers.
func TestAnAnswerIsTakenAsItIsMeant(t *testing.T) {
	t.Parallel()
	store, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	engine := think.New(think.Options{
		Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/meant.yaml": {Data: []byte(`
name: meant
version: "1"
params: {n: {type: integer, required: true}}
steps:
  - {id: sure, call: human.approve, input_template: {message: "Sure?"}}
  - {id: many, call: human.ask, capture_as: many, input_template: {message: "How many?", schema: {type: object, required: [n], properties: {n: {type: integer}}}}}
  - {id: open, call: human.ask, capture_as: open, input_template: {message: "Anything?"}}
outputs: {sum: "{{ params.n + many.n }}", open: "{{ open }}"}
`)}}}),
		Store: store, Now: time.Now, NewID: func() string { return "fresh" }})
	t.Cleanup(func() {
		engine.Close()
		require.NoError(t, store.Close())
	})
	texts := &person{answers: []engines.Answer{accept(`{"n":"4"}`), accept(`{"approved":"true"}`), accept(`{"n":"3"}`), accept(`{"answer":" {\"x\": [1]} "}`)}}
	reply, err := engine.Plan(t.Context(), think.PlanInput{Caller: texts.caller(), Workflow: "meant", RunID: "r1"})
	require.NoError(t, err)
	require.Len(t, texts.asked, 4, "nothing is asked again")
	require.True(t, reply.Done)
	require.Equal(t, `{"open":{"x":[1]},"sum":7}`, wire(t, reply.Outputs))
	words := &person{answers: []engines.Answer{accept(`{"n":4}`), accept(`{"approved":true}`), accept(`{"n":3}`), accept(`{"answer":" [x] 12 "}`)}}
	reply, err = engine.Plan(t.Context(), think.PlanInput{Caller: words.caller(), Workflow: "meant", RunID: "r3"})
	require.NoError(t, err)
	require.Equal(t, `{"open":" [x] 12 ","sum":7}`, wire(t, reply.Outputs), "a text stays as it is")
	no := &person{answers: []engines.Answer{accept(`{"n":"4"}`), accept(`{"approved":"false"}`)}}
	reply, err = engine.Plan(t.Context(), think.PlanInput{Caller: no.caller(), Workflow: "meant", RunID: "r2"})
	require.NoError(t, err)
	require.Equal(t, "failed", reply.Outcome)
}

func TestPersonWhoIsNotThereLeavesTheRunWaiting(t *testing.T) {
	t.Parallel()
	engine := askingEngine(t)
	nobody := &person{}
	_, err := engine.Plan(t.Context(), think.PlanInput{Caller: nobody.caller(), Workflow: "asking", RunID: "r1", Params: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	reply, err := engine.Next(t.Context(), think.NextInput{Caller: nobody.caller(), Workflow: "asking", RunID: "r1", StepID: "prepare", ResultSnapshot: json.RawMessage(`1`)})
	require.NoError(t, err)
	require.Equal(t, flow.Waiting, reply.State.Status)
	require.Equal(t, "sure", reply.Instruction.StepID)

	_, err = engine.Next(context.Background(), think.NextInput{Workflow: "asking", RunID: "r1", StepID: "sure", ResultSnapshot: json.RawMessage(`{"approved":true}`)})
	require.ErrorIs(t, err, fault.ApprovalRequired, "a model cannot approve")

	poll := think.NextInput{Workflow: "asking", RunID: "r1", StepID: "sure"}
	reply, err = engine.Next(context.Background(), poll)
	require.NoError(t, err)
	require.Equal(t, flow.Waiting, reply.State.Status)

	back := &person{answers: []engines.Answer{accept(`{"approved":true}`)}}
	poll.Caller = back.caller()
	reply, err = engine.Next(t.Context(), poll)
	require.NoError(t, err)
	require.Equal(t, "colour", reply.Instruction.StepID, "the poll asks again, and the next question finds nobody")
}

func TestDecliningTheFormDeclinesTheApproval(t *testing.T) {
	t.Parallel()
	engine := askingEngine(t)
	unwilling := &person{answers: []engines.Answer{{Action: "decline"}}}
	_, err := engine.Plan(t.Context(), think.PlanInput{Caller: unwilling.caller(), Workflow: "asking", RunID: "r1", Params: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	reply, err := engine.Next(t.Context(), think.NextInput{Caller: unwilling.caller(), Workflow: "asking", RunID: "r1", StepID: "prepare", ResultSnapshot: json.RawMessage(`1`)})
	require.NoError(t, err)
	require.True(t, reply.Done)
	require.Equal(t, "failed", reply.Outcome)
	require.Equal(t, fault.ApprovalRequired, reply.Failed[0].Code)
}

// A client that declines every form by itself declines nothing: the question stands.
func TestAFormThatNobodySawDeclinesNothing(t *testing.T) {
	t.Parallel()
	engine := askingEngine(t)
	unseen := &person{answers: []engines.Answer{{Action: "decline", Unseen: true}}}
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "asking", RunID: "r1", Params: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	reply, err := engine.Next(t.Context(), think.NextInput{Caller: unseen.caller(), Workflow: "asking", RunID: "r1", StepID: "prepare", ResultSnapshot: json.RawMessage(`1`)})
	require.NoError(t, err)
	require.Len(t, unseen.asked, 1)
	require.Equal(t, flow.Waiting, reply.State.Status)
	require.Contains(t, reply.Note, "in the hub (savant hub), or to run: savant approve r1 sure")
}

// A client that shows apps is told the tool that shows the question; who asks again gets
// the form.
func TestAnAppComesBeforeAForm(t *testing.T) {
	t.Parallel()
	engine := askingEngine(t)
	somebody := &person{answers: []engines.Answer{accept(`{"approved":true}`), accept(`{"colour":"red"}`)}}
	caller := somebody.caller()
	caller.Apps = true
	_, err := engine.Plan(t.Context(), think.PlanInput{Caller: caller, Workflow: "asking", RunID: "r1", Params: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	answer := think.NextInput{Caller: caller, Workflow: "asking", RunID: "r1", StepID: "prepare", ResultSnapshot: json.RawMessage(`1`)}
	reply, err := engine.Next(t.Context(), answer)
	require.NoError(t, err)
	require.Empty(t, somebody.asked)
	require.Contains(t, reply.Note, `Call app.approve {"workflow": "asking", "run_id": "r1", "step_id": "sure"}, which shows it to them here.`)
	reply, err = engine.Next(t.Context(), think.NextInput{Caller: caller, Workflow: "asking", RunID: "r1", StepID: "sure"})
	require.NoError(t, err)
	require.Len(t, somebody.asked, 2)
	require.Equal(t, "last", reply.Instruction.StepID)
}

func TestAnswerThatDoesNotFitTheQuestionIsNotRecorded(t *testing.T) {
	t.Parallel()
	engine := askingEngine(t)
	ctx := context.Background()
	_, err := engine.Plan(ctx, think.PlanInput{Workflow: "asking", RunID: "r1", Params: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	_, err = engine.Next(ctx, think.NextInput{RunID: "r1", StepID: "prepare", ResultSnapshot: json.RawMessage(`1`)})
	require.NoError(t, err)
	pending, err := engine.Pending(ctx, "asking", "r1")
	require.NoError(t, err)
	_, err = engine.Approve(ctx, think.Pending{Workflow: "asking", RunID: "r1", StepID: "sure", Digest: "not what was shown"}, map[string]any{"approved": true}, think.Caller{Name: think.ByTerminal})
	require.ErrorIs(t, err, fault.ApprovalRequired)
	_, err = engine.Approve(ctx, think.Pending{Workflow: "asking", RunID: "r1", StepID: "sure", Digest: pending[0].Digest}, map[string]any{"approved": true}, think.Caller{Name: think.ByTerminal})
	require.NoError(t, err)
	pending, err = engine.Pending(ctx, "asking", "r1")
	require.NoError(t, err)
	_, err = engine.Approve(ctx, think.Pending{Workflow: "asking", RunID: "r1", StepID: "colour", Digest: pending[0].Digest}, map[string]any{"colour": "green"}, think.Caller{Name: think.ByTerminal})
	require.ErrorIs(t, err, fault.ValidationFailed)
	reply, err := engine.Approve(ctx, think.Pending{Workflow: "asking", RunID: "r1", StepID: "colour", Digest: pending[0].Digest}, map[string]any{"colour": "blue"}, think.Caller{Name: think.ByTerminal})
	require.NoError(t, err)
	require.Equal(t, "last", reply.Instruction.StepID)
}

// What is approved was shown: a question that a form cannot show whole is not put to
// a person by a form.
func TestAPersonIsAskedOnlyWhatTheySee(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]struct {
		plan  any
		shown string // "": nobody is asked
	}{
		"short":           {"a plan", "Go on with a plan?"},
		"the end hidden":  {strings.Repeat("x", 8100) + " AND DROP DATABASE prod", ""},
		"nearly too long": {strings.Repeat("x", 7000), "xxx?"},
		"long by escapes": {strings.Repeat("\u202e", 1500), ""},
		"marks":           {"a\u202eb\U000e0041\x1b[2J", `a\u{202e}b\u{e0041}\u{1b}[2J?`},
		"lines":           {"a" + strings.Repeat("\n \n", 500) + "savant: approved", "\n  | Go on with a\n  | \n  | savant: approved?"},
		"far to the side": {"a" + strings.Repeat(" ", 4000) + "AND DROP", "a(4000 spaces)AND DROP?"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := askingEngine(t)
			willing := &person{answers: []engines.Answer{accept(`{"approved":true}`)}}
			_, err := engine.Plan(t.Context(), think.PlanInput{Caller: willing.caller(), Workflow: "asking", RunID: "r1", Params: map[string]any{"who": "Ada"}})
			require.NoError(t, err)
			reply, err := engine.Next(t.Context(), think.NextInput{Caller: willing.caller(), Workflow: "asking", RunID: "r1", StepID: "prepare", ResultSnapshot: json.RawMessage(wire(t, each.plan))})
			require.NoError(t, err)
			if each.shown == "" {
				require.Len(t, willing.asked, 1, "it is said where the question is shown whole")
				require.Contains(t, willing.asked[0].Message, "/runs/asking/r1", "the page of the hub")
				require.Contains(t, willing.asked[0].Message, "savant approve r1 sure", "the command")
				require.NotContains(t, willing.asked[0].Message, "Go on with")
				require.JSONEq(t, `{"type":"object","properties":{}}`, string(willing.asked[0].Schema))
				require.Equal(t, "sure", reply.Instruction.StepID)
				require.Equal(t, flow.Waiting, reply.State.Status)
				require.Contains(t, reply.Note, "savant approve r1 sure", "the terminal shows all of it")
				return
			}
			require.Contains(t, willing.asked[0].Message, each.shown)
			require.Equal(t, "colour", reply.Instruction.StepID)
		})
	}
}

// A form that waits for its person is taken back once somebody answered in another
// place, and the call goes on with the next question.
func TestAnAnswerGivenElsewhereEndsTheForm(t *testing.T) {
	t.Parallel()
	engine := askingEngine(t)
	forms, taken := make(chan engines.Elicitation), 0
	caller := guide.Caller(engines.Call{Caller: engines.Caller{Person: engines.PersonFunc(func(ctx context.Context, form engines.Elicitation) (engines.Answer, error) {
		forms <- form
		<-ctx.Done()
		taken++
		return engines.Answer{}, context.Cause(ctx)
	})}})
	_, err := engine.Plan(t.Context(), think.PlanInput{Caller: caller, Workflow: "asking", RunID: "r1", Params: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	type answered struct {
		reply *think.Reply
		err   error
	}
	replied := make(chan answered, 1)
	go func() {
		reply, err := engine.Next(t.Context(), think.NextInput{Caller: caller, Workflow: "asking", RunID: "r1", StepID: "prepare", ResultSnapshot: json.RawMessage(`"` + strings.Repeat("x", 8100) + `"`)})
		replied <- answered{reply, err}
	}()
	for _, step := range []string{"sure", "colour"} {
		<-forms
		pending, err := engine.Pending(t.Context(), "asking", "r1")
		require.NoError(t, err)
		answer := map[string]any{"sure": map[string]any{"approved": true}, "colour": map[string]any{"colour": "red"}}[step]
		_, err = engine.Approve(t.Context(), think.Pending{Workflow: "asking", RunID: "r1", StepID: step, Digest: pending[0].Digest}, answer, think.Caller{Name: think.ByTerminal})
		require.NoError(t, err)
	}
	got := <-replied
	require.NoError(t, got.err)
	require.Equal(t, "last", got.reply.Instruction.StepID)
	require.Equal(t, 2, taken)
}

// A form's fields hide nothing either: one that would is asked for as text, with the
// schema in the question.
func TestAFormHidesNoField(t *testing.T) {
	t.Parallel()
	store, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	engine := think.New(think.Options{Store: store, Now: time.Now, NewID: func() string { return "fresh" },
		Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/hiding.yaml": {Data: []byte(`name: hiding
version: "1.0"
steps:
  - id: pick
    call: human.ask
    input_template: {message: "Which?", schema: {type: object, properties: {which: {type: string, enum: ["a", "a\u200b"]}}}}
`)}}})})
	t.Cleanup(func() {
		engine.Close()
		require.NoError(t, store.Close())
	})
	asked := &person{answers: []engines.Answer{{Action: "cancel"}}}
	_, err = engine.Plan(t.Context(), think.PlanInput{Caller: asked.caller(), Workflow: "hiding", RunID: "r1"})
	require.NoError(t, err)
	require.Len(t, asked.asked, 1)
	require.Contains(t, asked.asked[0].Message, `"a\u{200b}"`)
	require.Contains(t, string(asked.asked[0].Schema), `"answer"`)
}

// The fields of a form stand in the order in which they are written, also where an expression
// or a named schema writes them, and a field of a named schema is one of its kind.
func TestAFormKeepsItsOrder(t *testing.T) {
	t.Parallel()
	const (
		schemaFile = `{"type": "object", "required": ["zip"], "properties": {"zip": {"type": "string"}, "area": {"$ref": "#/$defs/area"}, "kind": {"$ref": "Kind"}}, "$defs": {"area": {"enum": ["south", "north"]}}}`
		workflow   = `name: ordering
version: "1.0"
params:
  short: {type: boolean, default: false}
  place: {$ref: Place, default: {zip: "1"}}
schemas:
  Kind: {enum: [shop, home]}
  Person: {type: object, properties: {name: {type: string}, born: {type: integer}}}
steps:
  - id: pick
    call: human.ask
    input_template: {message: "Which?", schema: SCHEMA}
`
		named = `{type: object, $defs: {Kind: {type: integer}}, properties: {who: {$ref: Person, title: Who}, at: {allOf: [{$ref: Place}]}, kind: {$ref: Kind, description: of what}, count: {$ref: "#/$defs/Kind"}, born: {$ref: "Person#/properties/born"}, as: {enum: [{$ref: Kind}, x]}}}`
	)
	for name, c := range map[string]struct{ schema, fields string }{
		"written out":            {`{type: object, properties: {z: {type: string}, a: {type: integer}}}`, "z text, a integer"},
		"an expression":          {`"{{ {type: 'object', properties: {z: {type: 'string'}, a: {type: 'integer'}, m: {enum: [2, 1]}}} }}"`, "z text, a integer, m choice"},
		"one of two":             {`"{{ params.short ? {type: 'object', properties: {a: {type: 'string'}}} : {type: 'object', properties: {z: {type: 'string'}, b: {type: 'boolean'}}} }}"`, "z text, b boolean"},
		"a part":                 {`{type: object, properties: "{{ {z: {type: 'string'}, a: {type: 'null'}, b: {type: 'number'}} }}"}`, "z text, b number"},
		"a named one":            {`{$ref: Person}`, "name text, born integer"},
		"a file":                 {`{$ref: Place}`, "zip text, area choice, kind choice"},
		"named ones":             {named, "who.name text, who.born integer, at.zip text, at.area choice, at.kind choice, kind choice, count integer, born integer, as choice"},
		"of an expression":       {`"{{ {type: 'object', properties: {who: {'$ref': 'Person'}, at: {'$ref': 'Place'}}} }}"`, "who.name text, who.born integer, at.zip text, at.area choice, at.kind choice"},
		"more is demanded of it": {`{type: object, properties: {who: {$ref: Person, required: [name]}}}`, "who json"},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := state.Open(t.TempDir(), state.Options{})
			require.NoError(t, err)
			engine := think.New(think.Options{Store: store, Now: time.Now, NewID: func() string { return "fresh" },
				Library: library.New(library.Layer{Files: fstest.MapFS{
					"workflows/ordering.yaml": {Data: []byte(strings.Replace(workflow, "SCHEMA", c.schema, 1))},
					"schemas/Place.json":      {Data: []byte(schemaFile)},
				}})})
			t.Cleanup(func() {
				engine.Close()
				require.NoError(t, store.Close())
			})
			_, err = engine.Plan(t.Context(), think.PlanInput{Workflow: "ordering", RunID: "r1"})
			require.NoError(t, err)
			pending, err := engine.Pending(t.Context(), "ordering", "r1")
			require.NoError(t, err)
			var fields []string
			for _, each := range pending[0].Form().Fields() {
				fields = append(fields, each.Name+" "+string(each.Kind))
			}
			require.Equal(t, c.fields, strings.Join(fields, ", "))
		})
	}
}
