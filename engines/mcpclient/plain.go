package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"

	"golang.org/x/text/encoding/unicode"
)

// plainText reads a server's output as UTF-8 with line feeds. Output in UTF-16 is decoded.
// A carriage return ends a line, since in JSON it stands between values only.
type plainText struct {
	output io.Reader
	text   io.Reader // the decoded output; nil before the first read
}

// markUTF16 begins text in UTF-16, in one of the two orders.
var markUTF16 = "\xFE\xFF\xFE"

func (p *plainText) Read(into []byte) (int, error) {
	if p.text == nil {
		buffered := bufio.NewReader(p.output)
		p.text = buffered
		start, _ := buffered.Peek(2) // one byte or none is not decoded
		order := unicode.LittleEndian
		if bytes.HasPrefix(start, []byte{0}) {
			order = unicode.BigEndian
		}
		if bytes.IndexByte(start, 0) >= 0 || len(start) == 2 && bytes.Contains([]byte(markUTF16), start) {
			p.text = unicode.UTF16(order, unicode.UseBOM).NewDecoder().Reader(buffered)
		}
	}
	n, err := p.text.Read(into)
	for i, each := range into[:n] {
		if each == '\r' {
			into[i] = '\n'
		}
	}
	return n, err
}

// How long a server may pause before what it wrote is read, though its line has no end, and how
// long it may be silent within a message.
const (
	maxPause  = time.Second
	maxSilent = 25 * time.Second
)

// errPaused says that a server pauses, errSilent that it is silent for too long within a message.
// Reading goes on after both.
var (
	errPaused = errors.New("the server pauses")
	errSilent = errors.New("the server is silent")
)

// silences are the reports about a server that writes nothing, each some time after the last.
var silences = []struct {
	after time.Duration
	err   error
}{{maxPause, errPaused}, {maxSilent - maxPause, errSilent}}

// pauses reads a server's output, and reports once where it pauses and once where it is silent.
type pauses struct {
	parts chan []byte
	err   error // set before parts is closed
	rest  []byte
	told  int // how many silences of this pause
}

func newPauses(output io.Reader) *pauses {
	p := &pauses{parts: make(chan []byte), told: len(silences)}
	go func() {
		defer close(p.parts)
		var buffers [2][32 << 10]byte // one is filled while the other is read
		for i := 0; p.err == nil; i ^= 1 {
			var n int
			n, p.err = output.Read(buffers[i][:])
			p.parts <- buffers[i][:n]
		}
	}()
	return p
}

func (p *pauses) Read(into []byte) (int, error) {
	for len(p.rest) == 0 {
		var silence <-chan time.Time
		if p.told < len(silences) {
			silence = time.After(silences[p.told].after)
		}
		select {
		case part, more := <-p.parts:
			if !more {
				return 0, p.err
			}
			p.rest, p.told = part, 0
		case <-silence:
			p.told++
			return 0, silences[p.told-1].err
		}
	}
	n := copy(into, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
