package jsonvalue

import (
	"bytes"
	"iter"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is a JSON value with its place in the text. It is for files that people
// write, whose errors are reported with line and column.
type Node struct {
	// Offset is where the value begins, in bytes.
	Offset int
	// Raw is the text of the value. It begins with one of {, [, ", t, f, n, - and
	// digits.
	Raw []byte
	// Members are those of an object, in order. Names may repeat.
	Members []NodeMember
	// Items are those of a list.
	Items []Node
}

// NodeMember is one member of an object. Offset is where its name begins.
type NodeMember struct {
	Name   string
	Offset int
	Value  Node
}

// Read parses exactly one JSON value; the error is an *Error.
func Read(data []byte) (Node, error) {
	if err := checkUTF8(data); err != nil {
		return Node{}, err
	}
	r := reader{decoder{jsontext.NewDecoder(bytes.NewBuffer(data), tolerant), false}, data}
	root, err := r.node()
	if err = r.finish(err, data); err != nil {
		return Node{}, err
	}
	return root, nil
}

type reader struct {
	decoder
	data []byte
}

// next is where the next token begins.
func (r *reader) next() int {
	at := int(r.InputOffset())
	return at + len(r.data[at:]) - len(bytes.TrimLeft(r.data[at:], " \t\r\n,:"))
}

func (r *reader) node() (node Node, err error) {
	kind := r.PeekKind()
	if r.tooDeep(kind) {
		return node, errTooDeep
	}
	node.Offset = r.next()
	switch kind {
	case '{':
		err = r.members(&node)
	case '[':
		err = r.items(&node)
	default:
		err = r.SkipValue()
	}
	node.Raw = r.data[node.Offset:max(node.Offset, int(r.InputOffset()))]
	return node, err
}

func (r *reader) members(node *Node) error {
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	for r.PeekKind() != '}' {
		member := NodeMember{Offset: r.next()}
		token, err := r.ReadToken()
		if err != nil {
			return err
		}
		member.Name = token.String()
		if member.Value, err = r.node(); err != nil {
			return err
		}
		node.Members = append(node.Members, member)
	}
	_, err := r.ReadToken()
	return err
}

func (r *reader) items(node *Node) error {
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	for r.PeekKind() != ']' {
		item, err := r.node()
		if err != nil {
			return err
		}
		node.Items = append(node.Items, item)
	}
	_, err := r.ReadToken()
	return err
}

// Lookup returns the value at an RFC 6901 pointer, or the last value on the way to
// it that exists.
func (n Node) Lookup(pointer string) Node {
	for token := range Tokens(pointer) {
		next, found := n.child(token)
		if !found {
			break
		}
		n = next
	}
	return n
}

// Tokens yields the names and numbers of an RFC 6901 pointer, unescaped.
func Tokens(pointer string) iter.Seq[string] { return jsontext.Pointer(pointer).Tokens() }

// LastToken returns the last of Tokens, "" for the pointer of the whole.
func LastToken(pointer string) string { return jsontext.Pointer(pointer).LastToken() }

// Token returns a name as a pointer has it: escaped, behind its slash.
func Token(name string) string { return string(jsontext.Pointer("").AppendToken(name)) }

// Member returns the value of a member of an object. It returns the zero Node if the object
// lacks the member.
func (n Node) Member(name string) Node {
	found, _ := n.child(name)
	return found
}

func (n Node) child(name string) (Node, bool) {
	for _, member := range n.Members {
		if member.Name == name {
			return member.Value, true
		}
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.Items) {
		return n.Items[i], true
	}
	return Node{}, false
}

// Place returns the line of an offset in a text and its column, in characters,
// from 1.
func Place(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[begin:]) + 1
}
