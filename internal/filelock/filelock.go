// Package filelock takes advisory locks on open files. A lock excludes other processes
// and other handles of the same process. It ends when its file is closed, so also when
// its process is killed. On a system without flock every lock is granted: see
// Supported.
package filelock

import (
	"context"
	"time"
)

// Back-off between two attempts.
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
