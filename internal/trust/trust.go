// Package trust stores a person's answers about the parts of a folder that start
// programs, choose where content is sent, or replace bundled files. The answers are in
// the user's own configuration folder, so that a folder cannot accept its own parts. A
// part that nobody accepted is not used.
package trust

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// Kind is the kind of a part.
type Kind string

// The kinds of parts, in the order in which they are shown.
const (
	Server   Kind = "server"   // a server of mcp.json: it is started or called
	Command  Kind = "command"  // a command of ci.yaml: it is run
	Setting  Kind = "setting"  // a setting of the project's file: a host, a model, a folder outside
	Prompt   Kind = "prompt"   // a file of prompts
	Workflow Kind = "workflow" // a workflow in the place of a bundled one
	Schema   Kind = "schema"   // a schema in the place of a bundled one
)

var order = []Kind{Server, Command, Setting, Prompt, Workflow, Schema}

// Part is one thing in a folder that is used only after a person accepted it.
type Part struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// File is the file with the part, relative to SAVANT_PATH.
	File string `json:"file"`
	// Digest changes with every part of the content that is accepted.
	Digest string `json:"digest"`
	// Shown are the lines that show a person what the part does, exactly as written,
	// with any secret. The caller must make invisible characters visible, and remove
	// secrets if others see the lines.
	Shown []string `json:"shown"`
	// Text is the content of a file that is accepted as a whole.
	Text string `json:"text,omitempty"`
	// Programs are the digests of the program files of the folder that the part starts, by
	// path. They are accepted with it, apart from those that a pattern of Except names.
	Programs map[string]string `json:"programs,omitempty"`
	Except   []string          `json:"-"`
}

// NewPart returns a part with the digest of its content.
func NewPart(kind Kind, name, file string, content any, shown ...string) (Part, error) {
	digest, err := jsonvalue.Digest(content)
	if err != nil {
		return Part{}, fault.New(fault.Internal, "the digest of a part: %w", err)
	}
	return Part{Kind: kind, Name: name, File: file, Digest: digest, Shown: shown}, nil
}

// OfFile returns the part that a whole file is.
func OfFile(kind Kind, name, file string, text []byte, shown ...string) Part {
	return Part{Kind: kind, Name: name, File: file, Digest: jsonvalue.HexSum(text), Shown: shown, Text: string(text)}
}

// ID identifies a part in its folder: server:files.
func (p Part) ID() string { return string(p.Kind) + ":" + p.Name }

// String describes a part within a sentence.
func (p Part) String() string {
	switch p.Kind {
	case Server, Command, Setting:
		return fmt.Sprintf("the %s %s of %s", p.Kind, p.Name, p.File)
	case Prompt:
		return p.File
	}
	return fmt.Sprintf("%s, which has the name of a bundled %s,", p.File, p.Kind)
}

// Sort sorts parts into the order in which they are shown.
func Sort(parts []Part) {
	slices.SortStableFunc(parts, func(a, b Part) int {
		return cmp.Or(slices.Index(order, a.Kind)-slices.Index(order, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// Digest returns the digest of all parts of a folder. It does not depend on the place
// of the folder.
func Digest(parts []Part) string {
	lines := make([]string, len(parts))
	for i, each := range parts {
		lines[i] = fmt.Sprintf("%s %q %s\n", each.Kind, each.Name, each.Digest)
		for _, name := range slices.Sorted(maps.Keys(each.Programs)) {
			lines[i] += fmt.Sprintf("%q %s\n", name, each.Programs[name])
		}
	}
	slices.Sort(lines)
	return jsonvalue.HexSum([]byte(strings.Join(lines, "")))
}

// Answer is a person's answer about a part.
type Answer string

// The answers. Changed: another content under the same name was accepted.
const (
	Unsaid   Answer = "new"
	Changed  Answer = "changed"
	Accepted Answer = "accepted"
	Refused  Answer = "refused"
)

// Hint says how a person can accept a part.
func Hint() fault.Hint {
	return fault.Hint{Call: "savant trust", Text: "shows it to a person and asks; run it in the folder of SAVANT_PATH"}
}

// reasons are why a part is not used, by answer.
var reasons = map[Answer]string{
	Unsaid:  "nobody has trusted it yet",
	Changed: "it has changed since it was trusted",
	Refused: "a person refused it",
}

// required returns the error about a part that is not used.
func required(part Part, answer Answer) error {
	return fault.New(fault.TrustRequired, "%s is not used: %s", part, reasons[answer]).Hinted(Hint())
}

// plainWord is an argument that needs no quotes to be unambiguous.
var plainWord = pattern.Lazy(`^[A-Za-z0-9_@%+=:,./~{}$-]+$`)

// CommandLine formats a program with its arguments unambiguously.
func CommandLine(words ...string) string {
	shown := make([]string, len(words))
	for i, each := range words {
		if shown[i] = each; !plainWord().MatchString(each) {
			shown[i] = strconv.Quote(each)
		}
	}
	return strings.Join(shown, " ")
}
