package lsp

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// maxMessage bounds a message, in bytes. A longer one is passed over.
const maxMessage = 32 << 20

// frames carries the messages of the protocol, each behind its length. It implements
// channel.Channel. Lines that are no header, and messages that are too long, are passed
// over.
type frames struct {
	from *bufio.Reader
	to   io.Writer
	end  func() error

	mu sync.Mutex
}

// Send implements channel.Channel.
func (f *frames) Send(message []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := fmt.Fprintf(f.to, "Content-Length: %d\r\n\r\n%s", len(message), message)
	return err
}

// Recv implements channel.Channel.
func (f *frames) Recv() ([]byte, error) {
	for {
		size, err := f.header()
		if err != nil {
			return nil, err
		}
		if size > maxMessage {
			if _, err := io.CopyN(io.Discard, f.from, size); err != nil {
				return nil, err
			}
			continue
		}
		message := make([]byte, size)
		if _, err := io.ReadFull(f.from, message); err != nil {
			return nil, err
		}
		return message, nil
	}
}

// header reads up to the empty line before a message, and returns the message's length.
func (f *frames) header() (int64, error) {
	size := int64(-1)
	for {
		line, err := f.from.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull { // what is longer than the buffer is no header
			return 0, err
		}
		text := strings.TrimSpace(string(line))
		if text == "" && err == nil && size >= 0 {
			return size, nil
		}
		name, value, _ := strings.Cut(text, ":")
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		if length, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil && length >= 0 {
			size = length
		}
	}
}

// Close implements channel.Channel.
func (f *frames) Close() error { return f.end() }
