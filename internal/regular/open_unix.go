//go:build unix

package regular

import "golang.org/x/sys/unix"

// nonblocking keeps open from waiting for the other end of a pipe.
const nonblocking = unix.O_NONBLOCK
