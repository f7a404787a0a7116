package terminal

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// Output is a stream that stores its first write error: a command whose output was lost
// has failed. It is safe for concurrent use.
type Output struct {
	io.Writer
	mu    sync.Mutex
	first error
}

func (o *Output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.Writer.Write(data)
	if err != nil && o.first == nil {
		o.first = err
	}
	return n, err
}

// Failed returns the first write error, or nil.
func (o *Output) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// Unread reports whether the reader has closed the stream.
func (o *Output) Unread() bool { return errors.Is(o.Failed(), syscall.EPIPE) }
