package engines

import (
	"time"

	"savant/fault"
)

// Event is one call, for telemetry. It never holds arguments or results.
type Event struct {
	// Tool is the canonical name, or the name as it was called, cut, when no
	// tool has it; Engine is then empty.
	Tool, Engine string
	Started      time.Time
	// Duration is all that the caller waited.
	Duration time.Duration
	// InputBytes is the size of the arguments as they came, OutputBytes of the
	// JSON handed on; 0 where the call failed.
	InputBytes, OutputBytes int
	// Outcome is "ok" or the code of the fault.
	Outcome string
	// Receipt is the id of the receipt, or empty.
	Receipt string
}

// OutcomeOK is the outcome of a call that went well.
const OutcomeOK = "ok"

func outcomeOf(err error) string {
	if err == nil {
		return OutcomeOK
	}
	return string(fault.From(err).Code)
}
