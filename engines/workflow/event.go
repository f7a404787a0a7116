package workflow

import (
	"time"

	"savant/think/flow"
)

// Kind says what an Event is of.
type Kind string

// The kinds of events. Each step Begins once an attempt, and may be Working; the
// attempt then ends in one of the others, unless the drive is interrupted.
const (
	Begins  Kind = "begins"
	Working Kind = "working" // its tool reports progress: Doing
	Settled Kind = "settled" // Status says how
	Refused Kind = "refused" // the attempt failed, and another follows
	Left    Kind = "left"    // the step waits for somebody else
)

// Event is something that happened to a step of a driven run.
type Event struct {
	Kind         Kind
	StepID, Call string
	Attempt      int
	Status       flow.Status
	// Why says what was wrong with the attempt, or why the step is left.
	Why string
	// Doing is how far the step's tool is, in its own words.
	Doing string
	// Wait is how long until the attempt after a refused one.
	Wait time.Duration
	// Elapsed is how long the attempt took.
	Elapsed time.Duration
	// Ran counts the steps that ended done or failed so far.
	Ran int
}
