//go:build !linux

package files

import "errors"

// watch exists only on Linux: other systems may tell of a change only after a
// search that has to know of it.
type watch struct{}

func newWatch(string, []string) (*watch, error) {
	return nil, errors.New("folders are not watched on this system")
}

func (*watch) close() error { return nil }

func (*watch) events() ([]event, bool) { return nil, false }
