//go:build !linux

package files

import "errors"

// watch exists only on Linux: other systems may report a change too late for the next
// search.
type watch struct{}

func newWatch(string, []string) (*watch, error) {
	return nil, errors.New("folders are not watched on this system")
}

func (*watch) close() error { return nil }

func (*watch) events() ([]event, bool) { return nil, false }
