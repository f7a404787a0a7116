package flow

import (
	"savant/fault"
	"savant/internal/jsonvalue"
)

func (u *unit) set() {
	u.attempt = 1
	value, err := u.step().input.field("value").render(u.node.env(u.item))
	if err != nil {
		u.run().block(err)
		return
	}
	u.succeed(value)
}

// succeed checks a value against the schema and settles the unit with it; used
// for what the engine computes, which has no second attempt.
func (u *unit) succeed(value any) {
	if schema := u.step().Schema; schema != nil {
		if err := schema.Check(value); err != nil {
			u.fail(fault.From(err))
			return
		}
	}
	data, err := jsonvalue.Encode(value)
	if err != nil {
		u.run().block(fault.New(fault.Internal, "%s: encoding a value: %w", u.id, err))
		return
	}
	u.settle(Done, "", data, nil)
}

func (u *unit) assert() {
	u.attempt = 1
	env := u.node.env(u.item)
	that := u.step().input.field("that")
	value, err := that.render(env)
	if err != nil {
		u.run().block(err)
		return
	}
	yes, ok := value.(bool)
	if !ok {
		u.run().block(u.misfit(that, "flow.assert: that must give true or false, not "+kind(value)))
		return
	}
	if yes {
		u.settle(Done, "", []byte("true"), nil)
		return
	}
	message := "the assertion does not hold"
	if text := u.step().input.field("message"); text != nil {
		said, err := text.render(env)
		if err != nil {
			u.run().block(err)
			return
		}
		if text, ok := said.(string); ok {
			message = text
		}
	}
	u.fail(fault.New(fault.ValidationFailed, "%s", message).With(fault.Diagnostic{File: u.file(), Path: u.step().path + ".input_template.that",
		Line: u.step().at.line, Column: u.step().at.column, Message: message, Expected: "true", Actual: "false"}))
}

func (u *unit) file() string { return u.frame().graph.Workflow.File }

// misfit is an EXPRESSION_ERROR at a template.
func (u *unit) misfit(t *template, message string) *fault.Error {
	at := u.step().at
	path := u.step().path
	if t.where != nil {
		at, path = t.where.at(0), t.where.path
	}
	return fault.New(fault.ExpressionError, "%s:%d:%d: %s", u.file(), at.line, at.column, message).With(
		fault.Diagnostic{File: u.file(), Path: path, Line: at.line, Column: at.column, Message: message})
}
