package main

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// output is a stream that remembers that it could not be written to, whatever
// became of the error: an answer that nobody got is a failure. It may be used by
// several goroutines at once.
type output struct {
	io.Writer
	mu    sync.Mutex
	first error
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.Writer.Write(data)
	if err != nil && o.first == nil {
		o.first = err
	}
	return n, err
}

// failed returns the first error of writing, or nil.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// unread says whether who reads has seen enough and left.
func (o *output) unread() bool { return errors.Is(o.failed(), syscall.EPIPE) }
