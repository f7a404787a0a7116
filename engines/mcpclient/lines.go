package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// messageLines finds the messages in a server's output, also where it is not one message a
// line: after a byte order mark or other text, over several lines, in a batch, or with NaN.
type messageLines struct {
	limit int
	held  []byte // the beginning of a message that goes on in the next line
	depth jsonDepth
}

// take returns the messages that end in a line, and what is none.
func (l *messageLines) take(line []byte) (found []*jsonrpc.Message, skipped []byte) {
	line = bytes.TrimPrefix(line, jsonrpc.ByteOrderMark)
	text := bytes.TrimSpace(line)
	if found, rest := messagesIn(text); found != nil {
		skipped, l.held = append(l.held, rest...), nil
		return found, skipped
	}
	switch {
	case len(text) == 0:
		return nil, nil
	case l.held != nil:
		return l.hold(line)
	case begins(text):
		l.held, l.depth = []byte{}, jsonDepth{}
		return l.hold(line)
	}
	return behindText(text)
}

// unended returns the messages in a line that has no end yet, or else what there is of one.
func (l *messageLines) unended(line []byte) (found []*jsonrpc.Message, part []byte) {
	part = append(bytes.Clone(l.held), line...)
	trial := messageLines{limit: l.limit, held: bytes.Clone(l.held), depth: l.depth}
	if found, _ = trial.take(bytes.Clone(line)); found != nil {
		l.held = nil
	}
	return found, bytes.TrimSpace(bytes.TrimPrefix(part, jsonrpc.ByteOrderMark))
}

// maxTries bounds how often a message is looked for behind other text of its line.
const maxTries = 32

// behindText finds an answer or a notification behind other text. A request there is one
// that the server got and logs.
func behindText(text []byte) (found []*jsonrpc.Message, skipped []byte) {
	rest := text
	for range maxTries {
		at := bytes.IndexByte(rest[1:], '{') + 1
		if at == 0 {
			break
		}
		rest = rest[at:]
		if found, _ = messagesIn(rest); len(found) == 1 && (found[0].IsResponse() || found[0].IsNotification()) {
			return found, text[:len(text)-len(rest)]
		}
	}
	return nil, text
}

// hold adds a line to a message, and returns the message when it is whole. One that ends within
// a text is cut.
func (l *messageLines) hold(line []byte) (found []*jsonrpc.Message, skipped []byte) {
	l.held = append(append(l.held, line...), '\n')
	if l.depth.read(line) > 0 && !l.depth.inText && len(l.held) <= l.limit {
		return nil, nil
	}
	whole := bytes.TrimSpace(l.held)
	l.held = nil
	if found, skipped = messagesIn(whole); found == nil {
		skipped = whole
	}
	return found, skipped
}

// begins reports whether a text may be the beginning of a message or a batch.
func begins(text []byte) bool {
	rest := bytes.TrimSpace(text[1:])
	return text[0] == '{' && (len(rest) == 0 || rest[0] == '"') || text[0] == '[' && (len(rest) == 0 || rest[0] == '{')
}

// jsonDepth follows how deep a JSON text is nested.
type jsonDepth struct {
	depth           int
	inText, escaped bool
}

// read reads more of the text, and returns the depth at its end.
func (d *jsonDepth) read(part []byte) int {
	for _, each := range part {
		switch {
		case d.escaped:
			d.escaped = false
		case d.inText:
			d.escaped, d.inText = each == '\\', each != '"'
		case each == '"':
			d.inText = true
		case each == '{', each == '[':
			d.depth++
		case each == '}', each == ']':
			d.depth--
		}
	}
	return d.depth
}

// messagesIn returns the messages at the beginning of a text: one, several in a row, or
// those of a batch; nil if a JSON value there is no message. rest is the text that follows the
// last message.
func messagesIn(text []byte) (found []*jsonrpc.Message, rest []byte) {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return nil, nil
	}
	text = jsonvalue.WithoutNaN(text)
	values := json.NewDecoder(bytes.NewReader(text))
	for {
		rest = bytes.TrimLeft(text[values.InputOffset():], " \t\r\n")
		var value json.RawMessage
		err := values.Decode(&value)
		switch {
		case errors.Is(err, io.EOF), err != nil && found != nil && rest[0] != '{' && rest[0] != '[':
			return found, rest
		case err != nil:
			return nil, nil
		}
		batch := []json.RawMessage{value}
		if value[0] == '[' && json.Unmarshal(value, &batch) != nil {
			return nil, nil
		}
		for _, each := range batch {
			m, err := jsonrpc.Read(each)
			if err != nil || !isMessage(m) {
				return nil, nil
			}
			found = append(found, m)
		}
	}
}

// isMessage tells a message from other JSON, such as a line of a log.
func isMessage(m *jsonrpc.Message) bool {
	return jsonvalue.TextMember(m.Raw, "jsonrpc") == jsonrpc.Version || m.ID != nil && (m.Method != "" || m.Result != nil || m.Error != nil)
}
