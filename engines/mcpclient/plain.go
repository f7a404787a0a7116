package mcpclient

import (
	"bufio"
	"bytes"
	"io"

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
