package engines

import (
	"context"
	"encoding/json"
	"errors"

	"savant/fault"
)

// Rules decides about calls from the calls before them. It is called concurrently.
type Rules interface {
	// Reserve judges a call with the arguments that its tool would get, and notes it
	// before it is made; it may ask a person. A call that may not be made is
	// RULE_REFUSED, or APPROVAL_REQUIRED. The Reservation is nil for a call of which
	// nothing has to be noted.
	Reserve(ctx context.Context, call Call, tool Tool, args json.RawMessage) (Reservation, error)
	// ToolNotes returns what says in a line what the rules demand of a tool; "" for a tool
	// without rules.
	ToolNotes() func(tool string) string
}

// Reservation is a call that is about to be made.
type Reservation interface {
	// Settle notes how the call ended, once. It must not fail the call: what it cannot
	// note is the call whose outcome is unknown.
	Settle(ctx context.Context, ended Ended)
}

// Ended is how a call ended.
type Ended struct {
	// Value is what the tool returned, and JSON its encoding.
	Value any
	JSON  json.RawMessage
	// Receipt is the id of the call's receipt, or empty.
	Receipt string
	// Err is why the call failed. Cut: its client or the program had ended it by then.
	Err error
	Cut bool
}

// Broken is the member rules of a RULE_REFUSED, as it was made.
type Broken interface {
	// Names are those of the rules that are not met, separated by commas.
	Names() string
}

// BrokenBy names the rules that refused a call, separated by commas; "" for other errors.
func BrokenBy(err error) string {
	var coded *fault.Error
	if !errors.As(err, &coded) {
		return ""
	}
	broken, is := coded.Extra["rules"].(Broken)
	if !is {
		return ""
	}
	return broken.Names()
}

// ToolNotes returns what says in a line what the rules about a tool demand, or "".
func (r *Registry) ToolNotes() func(tool string) string {
	if r.table.options.Rules == nil {
		return func(string) string { return "" }
	}
	return r.table.options.Rules.ToolNotes()
}
