package jsonvalue

import "io"

// Indenter writes JSON for people, as json.Indent does with two spaces, several
// times as fast. What is written to it is valid JSON without white space, in
// parts of any size; it is not checked.
type Indenter struct {
	out  io.Writer
	line []byte // a line feed and the longest indentation so far
	page []byte

	depth                    int
	text, escaped, beginning bool
}

// indenterPage is how much an Indenter gathers before it writes.
const indenterPage = 64 << 10

// NewIndenter returns an indenter. What it gathers last is written by Flush.
func NewIndenter(out io.Writer) *Indenter {
	return &Indenter{out: out, line: []byte{'\n'}, page: make([]byte, 0, 4<<10)}
}

// Write implements io.Writer; its errors are those of what is written to.
func (w *Indenter) Write(data []byte) (int, error) {
	for at := 0; at < len(data); {
		if len(w.page) >= indenterPage {
			if err := w.Flush(); err != nil {
				return at, err
			}
		}
		rest := data[at:min(len(data), at+indenterPage)]
		if w.text {
			at += w.addText(rest)
		} else {
			at += w.addToken(rest)
		}
	}
	return len(data), nil
}

// Flush writes what was gathered.
func (w *Indenter) Flush() error {
	_, err := w.out.Write(w.page)
	w.page = w.page[:0]
	return err
}

// addText takes what begins within a text, up to its end, and returns the
// length of that.
func (w *Indenter) addText(data []byte) int {
	end := 0
	for end < len(data) && w.text {
		c := data[end]
		end++
		if w.escaped {
			w.escaped = false
			continue
		}
		w.escaped, w.text = c == '\\', c != '"'
	}
	w.page = append(w.page, data[:end]...)
	return end
}

// addToken takes one token that is no text, or the quote that begins one, and
// returns its length.
func (w *Indenter) addToken(data []byte) int {
	c := data[0]
	closing := c == '}' || c == ']'
	switch opened := w.beginning; {
	case opened && !closing:
		w.depth++
		w.newline()
	case !opened && closing:
		w.depth--
		w.newline()
	}
	w.beginning = false
	switch c {
	case '{', '[':
		w.beginning = true
	case '"':
		w.text = true
	case ',':
		w.page = append(w.page, c)
		w.newline()
		return 1
	case ':':
		w.page = append(w.page, ':', ' ')
		return 1
	default:
		if !closing {
			return w.addPlain(data)
		}
	}
	w.page = append(w.page, c)
	return 1
}

// addPlain takes a number, true, false or null.
func (w *Indenter) addPlain(data []byte) int {
	end := 1
	for end < len(data) && data[end] > ',' && data[end] != ']' && data[end] != '}' {
		end++
	}
	w.page = append(w.page, data[:end]...)
	return end
}

func (w *Indenter) newline() {
	for len(w.line) < 1+2*w.depth {
		w.line = append(w.line, ' ', ' ')
	}
	w.page = append(w.page, w.line[:1+2*w.depth]...)
}
