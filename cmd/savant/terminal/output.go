package terminal

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// Output is a stream that remembers that it could not be written to, whatever
// became of the error: an answer that nobody got is a failure. It may be used by
// several goroutines at once.
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

// Failed returns the first error of writing, or nil.
func (o *Output) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// Unread reports whether who reads has seen enough and left.
func (o *Output) Unread() bool { return errors.Is(o.Failed(), syscall.EPIPE) }
