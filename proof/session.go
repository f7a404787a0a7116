package proof

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// Event is what a session did: a call with what came of it, or a text of its model.
type Event struct {
	// Line is where it stands: a line of a log, a step of a run.
	Line int
	// Text is what the model said, "" for a call.
	Text string
	Tool string
	// Input are the arguments of the call, Output is what it returned, both JSON.
	Input, Output json.RawMessage
	// Failed is known without the output.
	Failed bool
}

// ReadLog reads a client's session log: one JSON value, or one a line. Clients differ in
// the names of members, and agree in the shapes: who speaks, a call with a name and
// arguments, and a result under the id of its call or beside it. What has none of them is
// passed over; known counts what has. It is 0 if there are calls in a shape that is not
// understood, since then nothing could be said of any. A call stands where its result came.
func ReadLog(log []byte) (events []Event, known int) {
	s := session{calls: map[string]Event{}}
	if root, err := jsonvalue.Read(log); err == nil {
		s.text, s.line = log, 1
		s.walk(root, "", nobody)
	} else {
		for number, line := range bytes.Split(log, []byte("\n")) {
			if root, err := jsonvalue.Read(line); err == nil {
				s.text, s.at, s.line = line, 0, number+1
				s.walk(root, "", nobody)
			}
		}
	}
	if s.opaque && !slices.ContainsFunc(s.events, func(each Event) bool { return each.Tool != "" }) {
		return nil, 0
	}
	return s.events, s.known
}

// session reads one log.
type session struct {
	text     []byte // what is read, up to at, which is on the line
	at, line int
	calls    map[string]Event // without a result yet, by id
	events   []Event
	known    int
	opaque   bool // something looks like a call, and is none that is understood
}

// voice says who speaks in a part of a log.
type voice int

const (
	nobody voice = iota
	ofModel
	ofOther
)

// The names that clients give to the same, in the order in which they are looked for.
var (
	toolNames   = []string{"name", "tool", "toolName", "tool_name"}
	inputNames  = []string{"input", "args", "arguments", "action"}
	outputNames = []string{"output", "result", "response", "content"}
	idNames     = []string{"tool_use_id", "call_id", "callID", "toolCallId", "tool_call_id", "id"}
)

// first returns the first of some members that is there and not null.
func first(node jsonvalue.Node, names []string) jsonvalue.Node {
	for _, name := range names {
		if found := node.Member(name); len(found.Raw) > 0 && found.Raw[0] != 'n' {
			return found
		}
	}
	return jsonvalue.Node{}
}

func textOf(node jsonvalue.Node, names ...string) string {
	return jsonvalue.Text(first(node, names).Raw)
}

// walk reads a value, which is a member of that name, and what is in it.
func (s *session) walk(node jsonvalue.Node, name string, by voice) {
	if len(node.Members) > 0 {
		s.line += bytes.Count(s.text[s.at:node.Offset], []byte("\n"))
		s.at = node.Offset
		if found := speaker(node); found != nobody {
			if by == nobody {
				s.known++
			}
			by = found
		}
		if s.call(node, name) {
			return
		}
		if by == ofModel {
			s.speech(node)
		}
	}
	for _, each := range node.Members {
		s.walk(each.Value, each.Name, by)
	}
	for _, each := range node.Items {
		s.walk(each, name, by)
	}
}

// speaker returns who speaks in an object, as it says itself or a member about it.
func speaker(node jsonvalue.Node) voice {
	for _, each := range []jsonvalue.Node{node, node.Member("info"), node.Member("message")} {
		for _, name := range []string{"role", "type"} {
			switch who, _, _ := strings.Cut(textOf(each, name), "."); who { // assistant.message
			case "assistant", "model", "gemini":
				return ofModel
			case "user", "human", "system", "developer", "tool":
				return ofOther
			}
		}
	}
	return nobody
}

// speech notes what the model says to the person. What it thinks, and what a client put in
// its mouth, is marked by another type or a member.
func (s *session) speech(node jsonvalue.Node) {
	kind := textOf(node, "type")
	if kind == "thinking" || kind == "reasoning" || isTrue(node, "thought") || isTrue(node, "synthetic") {
		return
	}
	for _, name := range []string{"text", "content"} {
		if text := textOf(node, name); text != "" {
			s.events = append(s.events, Event{Line: s.line, Text: text})
		}
	}
}

func isTrue(node jsonvalue.Node, name string) bool { return string(node.Member(name).Raw) == "true" }

// call notes a call or a result, and reports whether an object is one. A call without a name
// is named by its type, or by the member that it is.
func (s *session) call(node jsonvalue.Node, name string) bool {
	kind, id := textOf(node, "type"), textOf(node, idNames...)
	for _, inner := range []string{"function", "state"} { // which have the rest
		if state := node.Member(inner); len(state.Members) > 0 {
			node.Members = append(slices.Clone(node.Members), state.Members...)
		}
	}
	tool, input, output := textOf(node, toolNames...), first(node, inputNames), first(node, outputNames)
	switch {
	case tool != "":
	case strings.HasSuffix(kind, "_call"):
		tool = kind
	case strings.HasSuffix(name, "ToolCall"):
		tool = strings.TrimSuffix(name, "ToolCall")
	}
	event, ok := s.calls[id]
	ok = ok && id != ""
	if tool != "" && len(input.Raw) > 0 && strings.IndexByte(`{["`, input.Raw[0]) >= 0 {
		event, ok = Event{Tool: tool, Input: input.Raw}, true
		s.calls[id] = event
		if len(output.Raw) == 0 && textOf(node, "error") == "" {
			s.opaque = s.opaque || id == "" // no result can be told to be its own
			return true                     // its result comes later
		}
	}
	ended := len(output.Raw)+len(node.Member("success").Raw)+len(node.Member("error").Raw) > 0 || kind == "tool_result"
	if !ok || !ended {
		s.opaque = s.opaque || strings.Contains(kind, "tool") || strings.Contains(kind, "call")
		return false
	}
	delete(s.calls, id)
	s.known++
	event.Line, event.Failed = s.line, failed(node)
	s.events = append(s.events, event)
	return true
}

// around is how much of a text may stand around its output, in bytes.
const around = 500

// headCode and tailCode fit how clients write the code of a command around its output. What
// the command printed itself is not taken for it.
var (
	headCode = pattern.Lazy(`\A(?:(?:Chunk ID|Wall time|Command|Directory)\b.*\n)*(?:Process exited with code|Exit code:?) (-?\d+)(?:\n|\z)`)
	tailCode = pattern.Lazy(`(?:\A|\n)(?:Process exited with code|Exit Code:|<exited with exit code) (-?\d+)>?(?:\n(?:Signal|Background PIDs|Process Group PGID|</).*)*\s*\z`)
)

// failed reports whether a result says, itself or around what it returns, that the call
// failed.
func failed(node jsonvalue.Node) bool {
	if text := jsonvalue.Text(node.Raw); text != "" {
		if inner, err := jsonvalue.Read([]byte(text)); err == nil && len(inner.Members) > 0 {
			return failed(inner)
		}
		found := headCode().FindStringSubmatch(text[:min(len(text), around)])
		if found == nil {
			found = tailCode().FindStringSubmatch(text[max(0, len(text)-around):])
		}
		return found != nil && strings.Trim(found[1], "0") != ""
	}
	for _, each := range node.Members {
		raw := string(each.Value.Raw)
		switch each.Name {
		case "is_error", "isError":
			if raw == "true" {
				return true
			}
		case "success":
			if raw == "false" || failed(each.Value) {
				return true
			}
		case "error", "failure", "rejected":
			if !slices.Contains([]string{"null", "false", `""`, "{}"}, raw) {
				return true
			}
		case "exit_code", "exitCode", "exit":
			if strings.Trim(raw, "-0123456789") == "" && strings.Trim(raw, "0") != "" {
				return true
			}
		case "status":
			if slices.Contains([]string{`"failed"`, `"error"`, `"failure"`, `"cancelled"`, `"canceled"`, `"declined"`, `"incomplete"`}, raw) {
				return true
			}
		case "output", "result", "response", "content", "metadata", "functionResponse", "text":
			if failed(each.Value) {
				return true
			}
		}
	}
	return len(node.Items) > 0 && (failed(node.Items[0]) || failed(node.Items[len(node.Items)-1]))
}
