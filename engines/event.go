package engines

import (
	"time"
)

// Event describes one call, for telemetry. It never holds arguments or results.
type Event struct {
	// Tool is the canonical name. For an unknown tool it is the name as called,
	// truncated, and Engine is empty.
	Tool, Engine string
	Started      time.Time
	// Duration is how long the caller waited.
	Duration time.Duration
	// InputBytes is the size of the arguments as received, OutputBytes that of the
	// result's JSON; 0 if the call failed.
	InputBytes, OutputBytes int
	// Outcome is "ok" or the code of the fault.
	Outcome string
	// Receipt is the id of the receipt, or empty.
	Receipt string
	// Rules names the rules that refused the call, separated by commas.
	Rules string
}

// OutcomeOK is the outcome of a call that succeeded.
const OutcomeOK = "ok"
