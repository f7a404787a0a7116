package reasoning

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"savant/fault"
)

// Pauses for a model: the first one, which doubles, with a jitter of 50 %. A program on
// this machine that is not running is asked twice more, at once.
const (
	modelPause   = 500 * time.Millisecond
	maxRefusedBy = 2
)

// Patiently repeats a call whose error is Temporary, until the pauses between the calls
// add up to patience. A pause that the other side asks for comes first; one that does
// not fit ends the attempts. It reports each pause to the observer.
func Patiently[T any](ctx context.Context, patience time.Duration, observer Observer, call func() (T, error)) (T, error) {
	pause, waited := modelPause, time.Duration(0)
	for number := 1; ; number++ {
		began := time.Now()
		made, err := call()
		var temporary *Temporary
		if !errors.As(err, &temporary) || ctx.Err() != nil || patience <= 0 {
			return made, err
		}
		wait := min(pause/2+rand.N(pause), patience-waited) //nolint:gosec // a jitter is no secret
		switch {
		case temporary.Refused && number > maxRefusedBy:
			return made, err
		case temporary.Refused:
			wait = firstPause
		case temporary.After > patience-waited:
			return made, impatient(err, temporary.After, fmt.Sprintf("it asks to wait %s, and Savant waits %s at most", temporary.After.Round(time.Second), patience))
		case temporary.After > 0:
			wait = temporary.After
		case waited >= patience:
			return made, impatient(err, 0, fmt.Sprintf("it was asked %d times in %s", number, patience))
		default:
			pause *= 2
		}
		observer.Waited(Attempt{Number: number, Err: err, Elapsed: time.Since(began), Wait: wait})
		select {
		case <-ctx.Done():
			return made, ctx.Err()
		case <-time.After(wait):
			waited += wait
		}
	}
}

// impatient is an error that was not waited for any longer, and why.
func impatient(err error, after time.Duration, why string) error {
	var coded error = fault.New(fault.ReasoningUnavailable, "%s; %s", fault.From(err).Details, why)
	if errors.As(err, new(*Away)) {
		coded = &Away{coded}
	}
	return &Temporary{Err: coded, After: after}
}
