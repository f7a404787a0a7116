package models

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"savant/internal/eventstream"
	"savant/internal/jsonvalue"
	"savant/internal/redact"
	"savant/reasoning"
)

// taker reads the answer of a service, whole or as a stream of parts.
type taker interface {
	take(part []byte) error
	// taken returns the answer read so far.
	taken() *partialAnswer
}

// partialAnswer accumulates an answer.
type partialAnswer struct {
	stream func(string)
	text   strings.Builder
	// thinking is what the model wrote apart from its answer.
	thinking strings.Builder
	calls    []*call
	reply    Reply
	// begun: a part was read; ended: the service said that the answer is complete.
	begun, ended bool
	// refusal is the text of a model's refusal.
	refusal strings.Builder
	// half is the first half of a surrogate pair, in JSON, that the next part completes.
	half string
}

func (c *partialAnswer) taken() *partialAnswer { return c }

// call is a native tool call of the service. No tools are offered that way, but some
// models make such calls anyway.
type call struct {
	number     int
	id         string
	name, args strings.Builder
}

// wrote adds a piece of text.
func (c *partialAnswer) wrote(text string) {
	c.text.WriteString(text)
	if c.stream != nil && text != "" {
		c.stream(text)
	}
}

// callAt returns the latest call with a number, and adds a call if no call has it. A part that has
// a name and another id begins a new call, because some services give all calls one number.
// Only the last MaxCalls calls are searched: an intent has no more.
func (c *partialAnswer) callAt(number int, id, name string) *call {
	for _, each := range slices.Backward(c.calls[max(0, len(c.calls)-reasoning.MaxCalls):]) {
		if each.number == number && (name == "" || id != "" && id == each.id || id == "" && each.args.Len() == 0) {
			if name != each.name.String() {
				each.name.WriteString(name)
			}
			return each
		}
	}
	made := &call{number: number, id: id}
	made.name.WriteString(name)
	c.calls = append(c.calls, made)
	return made
}

// answer returns the reply: the text, or the calls as an intent.
func (c *partialAnswer) answer() Reply {
	reply := c.reply
	reply.Text, reply.Thinking = c.text.String(), c.thinking.String()
	var calls []reasoning.Call
	for _, each := range c.calls {
		calls = append(calls, reasoning.Call{ToolName: each.name.String(), Args: argsOf(each.args.String())})
	}
	raw, err := json.Marshal(reasoning.Intent{Action: reasoning.ActionTool, Calls: calls})
	switch {
	case err != nil || len(calls) == 0:
	case strings.TrimSpace(reply.Text) == "":
		reply.Text = string(raw)
	default:
		reply.Calls = string(raw)
	}
	return reply
}

// argsOf returns the arguments of a call. Text that is not JSON, such as a truncated
// object, becomes a JSON string: ParseIntent refuses it, so that no tool is called with
// other arguments than the model wrote.
func argsOf(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string always encodes
	return quoted
}

// exchange sends a request and feeds the answer to into, in parts if it streams. A
// service without the path is asked once more with a version in it.
func (s *service) exchange(ctx context.Context, operation string, header http.Header, request map[string]any, into taker) (Reply, error) {
	if into.taken().stream != nil {
		request["stream"] = true
	}
	body, err := json.Marshal(request)
	if err != nil {
		return Reply{}, err
	}
	reply, err := s.send(ctx, operation, header, body, into)
	if lacksPath(err) && s.versioned(true) {
		if reply, err = s.send(ctx, operation, header, body, into); lacksPath(err) {
			s.versioned(false)
		}
	}
	if lacksPath(err) {
		err = s.noPath(operation, err)
	}
	return reply, err
}

func (s *service) send(ctx context.Context, operation string, header http.Header, body []byte, into taker) (Reply, error) {
	made := into.taken()
	var err error
	if made.stream != nil {
		header.Set("Accept", "text/event-stream, application/x-ndjson, application/json")
		err = reasoning.PostStream(ctx, s.client, s.address(operation), header, body, func(answer io.Reader) error { return s.parts(answer, into) })
	} else {
		var answer json.RawMessage
		if answer, err = reasoning.Post(ctx, s.client, s.address(operation), header, body); err == nil {
			err = s.part(answer, into)
		}
	}
	switch {
	case errors.As(err, new(*reasoning.Pending)):
		return made.reply, s.failed("answered HTTP 202 without an answer")
	case err != nil:
		return made.reply, markTemporary(tooLong(err))
	case made.refusal.Len() > 0: // even after some text
		return made.reply, s.failed("refused: " + made.refusal.String())
	}
	return made.answer(), nil
}

// part feeds one part, or a whole answer.
func (s *service) part(answer []byte, into taker) error {
	if answer = jsonvalue.WithoutNaN(answer); !json.Valid(answer) {
		return s.undocumented(answer, into.taken().begun)
	}
	into.taken().begun = true
	if said := refusal(answer); said != nil {
		return s.refusalError(said)
	}
	return into.take(answer)
}

// undocumented is the error of an answer, or the rest of one that has begun, that is not JSON.
// A page of HTML is that of another path.
func (s *service) undocumented(answer []byte, begun bool) error {
	err := s.failed("sent an answer that is not its documented JSON")
	switch text, broke := bytes.TrimSpace(answer), reasoning.BrokeOff([]byte(redact.FromLength(1, s.key).Text(string(answer))), begun); {
	case broke != "":
		return &reasoning.Temporary{Err: s.failed(broke)}
	case len(text) == 0: // more white space than an answer may have
		return &reasoning.Temporary{Err: err}
	case text[0] == '<':
		return &reasoning.Refused{Status: http.StatusNotFound, Err: err}
	case text[0] != '{' && passes().Match(text): // a proxy's
		return &reasoning.Temporary{Err: err}
	}
	return err
}

// parts feeds a streamed answer: server-sent events, or a sequence of JSON objects. A
// service that does not stream sends one object.
func (s *service) parts(answer io.Reader, into taker) error {
	buffered := bufio.NewReader(answer)
	var err error
	switch first := firstByte(buffered); first {
	case '<':
		return s.undocumented([]byte{first}, false)
	case '{':
		err = s.objects(buffered, into)
	default:
		err = s.events(buffered, into)
	}
	if err != nil || into.taken().ended {
		return err
	}
	return &reasoning.Temporary{Err: s.failed("ended its answer too early")}
}

// firstByte returns the first byte that is not white space, without taking it from the reader. It
// returns 0 where nothing but white space is left.
func firstByte(from *bufio.Reader) byte {
	for {
		next, err := from.ReadByte()
		if err != nil || !bytes.Contains([]byte(" \t\r\n\ufeff"), []byte{next}) {
			_ = from.UnreadByte() // fails only at the end, where no byte was read
			return next
		}
	}
}

// objects feeds a sequence of JSON objects.
func (s *service) objects(from io.Reader, into taker) error {
	for decoder := json.NewDecoder(from); ; {
		var object json.RawMessage
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil // parts checks whether the answer is complete
		case err != nil: // perhaps for its NaN
			rest, _ := io.ReadAll(io.MultiReader(decoder.Buffered(), from)) // what cannot be read is no JSON
			if mended := jsonvalue.WithoutNaN(rest); !bytes.Equal(mended, rest) {
				return s.objects(bytes.NewReader(mended), into)
			}
			return s.part(rest, into)
		}
		if err := s.part(object, into); err != nil {
			return err
		}
	}
}

// endOfEvents ends a stream of OpenAI's interface.
const endOfEvents = "[DONE]"

// events feeds server-sent events, whose data are JSON objects, perhaps several in one event.
// Other text is no part of the answer, unless it says that the service failed.
func (s *service) events(from io.Reader, into taker) error {
	for events := eventstream.NewReader(from); ; {
		next, err := events.Next()
		for text := jsonvalue.WithoutNaN(next.Text); len(text) > 0; text = bytes.TrimSpace(text) {
			var object json.RawMessage
			decoder := json.NewDecoder(bytes.NewReader(text))
			if decoder.Decode(&object) == nil {
				if err := s.part(object, into); err != nil {
					return err
				}
				text = text[decoder.InputOffset():]
				continue
			}
			line, behind, _ := bytes.Cut(text, []byte("\n"))
			switch opening := text[0] == '{'; {
			case bytes.HasPrefix(text, []byte(endOfEvents)):
				into.taken().ended = true
				return nil
			case opening && err == nil, !opening && passes().Match(line):
				return s.undocumented(text, into.taken().begun)
			case opening, text[0] == '[': // which the next lines may be part of
				text = nil
			default:
				text = behind
			}
		}
		if err != nil {
			return nil // parts checks whether the answer is complete
		}
	}
}
