package terminal

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// Output is a stream that remembers its first error of writing: an answer that
// nobody got is a failure. Several goroutines may use it at once.
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

// Unread reports whether the reader has closed the stream.
func (o *Output) Unread() bool { return errors.Is(o.Failed(), syscall.EPIPE) }
