package filelock

import (
	"context"
	"time"

	"savant/fault"
)

// A lock that is not free is told after notice, and given up after patience.
const (
	notice   = 2 * time.Second
	patience = 30 * time.Second
)

// Acquire is Wait for a lock that other processes hold for a moment only. Where one
// keeps it, whoever Telling names hears of that after two seconds; after thirty the
// error is STATE_CONFLICT. name is what is locked, as a person knows it.
func Acquire(ctx context.Context, name string, try func() (bool, error)) error {
	if locked, err := try(); locked || err != nil {
		return err
	}
	held := fault.New(fault.StateConflict, "%s: another process has had it locked for %d seconds", name, int(patience/time.Second)).
		Hinted(fault.Hint{Text: "end that process, or let it finish, and try again"})
	limited, cancel := context.WithTimeoutCause(ctx, patience, held)
	defer cancel()
	if tell, listens := ctx.Value(teller{}).(func(string)); listens {
		timer := time.AfterFunc(notice, func() { tell(name) })
		defer timer.Stop()
	}
	return Wait(limited, try)
}

type teller struct{}

// Telling returns a context in which tell is called with the name of a lock that is
// waited for.
func Telling(ctx context.Context, tell func(name string)) context.Context {
	return context.WithValue(ctx, teller{}, tell)
}
