//go:build !unix

package state

import "errors"

// openDisk refuses: the order between processes rests on flock.
func openDisk(string) (disk, error) {
	return nil, errors.New("the folder store needs a Unix system")
}
