package filelock

import (
	"context"
	"time"

	"savant/fault"
)

// A wait for a lock is reported after notice, and fails after patience.
const (
	notice   = 2 * time.Second
	patience = 30 * time.Second
)

// Acquire is Wait for a lock that processes hold only briefly. After two seconds it
// calls the function of WithNotice; after thirty it fails with STATE_CONFLICT. name
// describes the lock for a person.
func Acquire(ctx context.Context, name string, try func() (bool, error)) error {
	if locked, err := try(); locked || err != nil {
		return err
	}
	failure := fault.New(fault.StateConflict, "%s: another process has held its lock for %d seconds", name, int(patience/time.Second)).
		Hinted(fault.Hint{Text: "end that process, or let it finish, and try again"})
	limited, cancel := context.WithTimeoutCause(ctx, patience, failure)
	defer cancel()
	if notify, ok := ctx.Value(noticeKey{}).(func(string)); ok {
		timer := time.AfterFunc(notice, func() { notify(name) })
		defer timer.Stop()
	}
	return Wait(limited, try)
}

type noticeKey struct{}

// WithNotice returns a context for which Acquire calls notify with the name of a lock that
// it waits for.
func WithNotice(ctx context.Context, notify func(name string)) context.Context {
	return context.WithValue(ctx, noticeKey{}, notify)
}
