// Package filelock takes advisory locks on open files. A lock orders processes,
// and two handles of one process too. It ends when its file is closed, so also
// when its process is killed. On a system without flock every lock is granted
// and nobody is kept out: see Supported.
package filelock

import (
	"context"
	"time"
)

// The pause between two attempts grows from the first to the longest.
const (
	firstPause   = 50 * time.Microsecond
	longestPause = 2 * time.Millisecond
)

// Wait calls try until it returns true or an error, and returns that error. It
// returns the cause of ctx when ctx ends first.
func Wait(ctx context.Context, try func() (bool, error)) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if locked, err := try(); locked || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
