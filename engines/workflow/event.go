package workflow

import (
	"time"

	"savant/think/flow"
)

// Kind is the kind of an Event.
type Kind string

// The kinds of events. Each attempt of a step Begins and may be Working; it ends in one
// of the others, unless the drive is interrupted.
const (
	Begins  Kind = "begins"
	Working Kind = "working" // its tool reports progress: Doing
	Settled Kind = "settled" // Status says how
	Refused Kind = "refused" // the attempt failed, and another follows
	Left    Kind = "left"    // the step waits for somebody else
)

// Event reports progress of one step of a driven run.
type Event struct {
	Kind         Kind
	StepID, Call string
	Attempt      int
	Status       flow.Status
	// Why is what was wrong with the attempt, or why the step is left.
	Why string
	// Doing is the progress that the step's tool reports.
	Doing string
	// Wait is the back-off before the next attempt after a refused one.
	Wait time.Duration
	// Elapsed is the duration of the attempt.
	Elapsed time.Duration
}
