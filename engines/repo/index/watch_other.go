//go:build !linux

package index

import "errors"

// watch is only had on Linux: what the other systems tell of a change may come
// after a query that has to know of it.
type watch struct{}

func newWatch(string, []string) (*watch, error) {
	return nil, errors.New("folders are not watched on this system")
}

func (*watch) close() error { return nil }

func (*watch) heard() ([]event, bool) { return nil, false }
