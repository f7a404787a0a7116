// Package trust keeps what a person said about the parts of a folder that start
// programs, say where content is sent, or take the place of what is bundled. It is
// kept in the user's own configuration folder, so that no folder can say it of
// itself. A part that nobody accepted is not used.
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// Kind says what a part is.
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

// Part is one thing that a folder brings and that is used only once a person has
// accepted it.
type Part struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// File is where it is written, relative to SAVANT_PATH.
	File string `json:"file"`
	// Digest changes with everything that is accepted.
	Digest string `json:"digest"`
	// Shown are the lines that tell a person what it does, as they are written
	// there, with any secret: whoever shows them writes out what cannot be seen,
	// and removes secrets where not only the person sees them.
	Shown []string `json:"shown"`
	// Text is the content of a file that is accepted as a whole.
	Text string `json:"text,omitempty"`
}

// Of returns a part with the digest of its content.
func Of(kind Kind, name, file string, content any, shown ...string) (Part, error) {
	digest, err := jsonvalue.Digest(content)
	if err != nil {
		return Part{}, fault.New(fault.Internal, "the digest of a part: %w", err)
	}
	return Part{Kind: kind, Name: name, File: file, Digest: digest, Shown: shown}, nil
}

// OfFile returns the part that a whole file is.
func OfFile(kind Kind, name, file string, text []byte, shown ...string) Part {
	sum := sha256.Sum256(text)
	return Part{Kind: kind, Name: name, File: file, Digest: hex.EncodeToString(sum[:]), Shown: shown, Text: string(text)}
}

// ID names a part among those of its folder: server:files.
func (p Part) ID() string { return string(p.Kind) + ":" + p.Name }

// String names a part in a sentence.
func (p Part) String() string {
	switch p.Kind {
	case Server, Command, Setting:
		return fmt.Sprintf("the %s %s of %s", p.Kind, p.Name, p.File)
	case Prompt:
		return p.File
	}
	return fmt.Sprintf("%s, which has the name of a bundled %s,", p.File, p.Kind)
}

// Sort puts parts into the order in which they are shown.
func Sort(parts []Part) {
	slices.SortStableFunc(parts, func(a, b Part) int {
		return cmp.Or(slices.Index(order, a.Kind)-slices.Index(order, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// Digest is the digest of all parts of a folder together. It does not depend on
// where the folder is.
func Digest(parts []Part) string {
	lines := make([]string, len(parts))
	for i, each := range parts {
		lines[i] = fmt.Sprintf("%s %q %s\n", each.Kind, each.Name, each.Digest)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// Answer is what a person said about a part.
type Answer string

// The answers. Changed: another content under the same name was accepted.
const (
	Unsaid   Answer = "new"
	Changed  Answer = "changed"
	Accepted Answer = "accepted"
	Refused  Answer = "refused"
)

// Hint says what a person can do about a part that is not used.
func Hint() fault.Hint {
	return fault.Hint{Call: "savant trust", Text: "shows it to a person and asks; run it in the folder of SAVANT_PATH"}
}

// reasons say why a part is not used.
var reasons = map[Answer]string{
	Unsaid:  "nobody has trusted it yet",
	Changed: "it has changed since it was trusted",
	Refused: "a person refused it",
}

// required is the error about a part that is not used.
func required(part Part, answer Answer) error {
	return fault.New(fault.TrustRequired, "%s is not used: %s", part, reasons[answer]).Hinted(Hint())
}

// plainWord is an argument that needs no quotes to be seen whole.
var plainWord = pattern.Lazy(`^[A-Za-z0-9_@%+=:,./~{}$-]+$`)

// CommandLine writes a program and its arguments so that each can be told apart.
func CommandLine(words ...string) string {
	shown := make([]string, len(words))
	for i, each := range words {
		if shown[i] = each; !plainWord().MatchString(each) {
			shown[i] = strconv.Quote(each)
		}
	}
	return strings.Join(shown, " ")
}
