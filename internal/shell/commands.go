// Package shell tells which commands a text would run if a shell ran it. It runs nothing
// and reads no file and no environment.
package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"savant/internal/pattern"
)

// Command is a command with its words as the program gets them. A part that cannot be told stays
// as it was written: ${NAME}, or $() for what a command prints.
type Command struct {
	// Name is the program without its folder and the ending of Windows, in small letters.
	Name string
	Args []string
}

// Limits of one text. The parser recurses, and one word can name many commands.
const (
	maxText     = 128 << 10 // bytes: Linux starts no shell with more
	maxNested   = 4000      // brackets
	maxCommands = 4000
	maxWords    = 20_000 // of all commands
	maxDepth    = 16
	maxWork     = 2 << 20 // bytes that are read, and steps times stepWork
	stepWork    = 8
	maxPlaces   = 64 // words of one command that may be a program of their own
	minPlaces   = 4  // of a long one
)

// nested returns how many brackets are open at once at most.
func nested(text string) (most int) {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{':
			open++
			most = max(most, open)
		case ')', '}':
			open = max(open-1, 0)
		}
	}
	return most
}

// reader collects commands.
type reader struct {
	found     []Command // each once
	seen      map[string]bool
	words     int
	depth     int
	work      int
	scope     scope // of the text that is read
	functions map[string]*syntax.Stmt
	files     map[string]string // that the text writes
}

func (r *reader) spent() bool {
	return len(r.found) > maxCommands || r.words >= maxWords || r.work >= maxWork
}

// drivePath matches the beginning of a path of Windows, whose \ a shell would take away.
var drivePath = pattern.Lazy(`(^|[\s"'=])[A-Za-z]:\\`)

// text adds the commands of a text.
func (r *reader) text(text string) {
	if len(text) > maxText || nested(text) > maxNested || r.depth >= maxDepth && text != "" {
		r.words += maxWords // nobody knows what is in it
	}
	r.work += len(text)
	if text == "" || r.spent() {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	if drivePath().MatchString(text) {
		r.loose(text)
	}
	file := parse(text)
	if file == nil {
		r.loose(text)
		return
	}
	for _, statement := range file.Stmts {
		r.statement(statement, "")
	}
}

// Reads reports whether a shell reads a text as commands.
func Reads(text string) bool {
	return len(text) <= maxText && nested(text) <= maxNested && parse(text) != nil
}

// parse returns nil for a text that a shell cannot read.
func parse(text string) *syntax.File {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file
}

// setVariable matches how PowerShell gives a variable a text.
var setVariable = pattern.Lazy(`(\$\w+)\s*=\s*['"]([^'"]*)['"]`)

// loose adds the words between the signs that end a command in any shell.
func (r *reader) loose(text string) {
	for _, each := range setVariable().FindAllStringSubmatch(text, maxDepth) {
		if strings.Count(text, each[1])*len(each[2]) > maxText {
			r.words += maxWords
			return
		}
		text = strings.ReplaceAll(text, each[1], each[2])
	}
	for _, line := range strings.FieldsFunc(strings.ReplaceAll(text, "`\n", " "), func(c rune) bool { return strings.ContainsRune(";&|\n(){}", c) }) {
		r.command(strings.FieldsFunc(line, isBetweenWords), "", false)
	}
}

func isBetweenWords(c rune) bool { return strings.ContainsRune(" \t\r\n\"',`", c) }

// statement adds the commands of a statement, which reads an input.
func (r *reader) statement(statement *syntax.Stmt, input string) {
	for _, each := range statement.Redirs {
		if r.spent() {
			return
		}
		switch {
		case each.Hdoc != nil:
			input += r.scope.literal(each.Hdoc)
		case each.Op == syntax.WordHdoc, each.Op == syntax.RdrIn && len(each.Word.Parts) == 1 && isPrinted(each.Word.Parts[0]):
			input += r.scope.literal(each.Word)
		case each.Op == syntax.RdrIn:
			file := r.scope.literal(each.Word)
			r.add([]string{"<", file})
			input += r.files[path.Clean(file)]
		case each.Op == syntax.RdrOut || each.Op == syntax.AppOut || each.Op == syntax.RdrClob:
			file := path.Clean(r.scope.literal(each.Word))
			r.files[file] += r.scope.printed([]*syntax.Stmt{statement}) + "\n"
			r.work += len(r.files[file]) // it can grow with each round of a loop
		}
	}
	r.node(statement, input)
}

// isPrinted reports whether a part of a word is what commands print: <(…).
func isPrinted(part syntax.WordPart) bool {
	_, is := part.(*syntax.ProcSubst)
	return is
}

// node adds the commands in a node.
func (r *reader) node(root syntax.Node, input string) {
	syntax.Walk(root, func(node syntax.Node) bool {
		if r.work += stepWork; r.spent() {
			return false
		}
		switch n := node.(type) {
		case *syntax.Stmt:
			if len(n.Redirs) > 0 && root != n {
				r.statement(n, input)
				return false
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				r.statement(n.X, input)
				r.statement(n.Y, r.scope.printed([]*syntax.Stmt{n.X}))
				return false
			}
		case *syntax.FuncDecl:
			if n.Name != nil {
				r.functions[n.Name.Value] = n.Body
			}
		case *syntax.DeclClause:
			r.scope.assign(n.Args)
		case *syntax.ForClause:
			return !r.loop(n, input)
		case *syntax.CallExpr:
			r.call(n, input)
		}
		return true
	})
}

// loop reads the body of a loop for each word of its list.
func (r *reader) loop(loop *syntax.ForClause, input string) bool {
	list, is := loop.Loop.(*syntax.WordIter)
	if !is {
		return false
	}
	for _, value := range r.scope.fields(list.Items) {
		r.scope.set(list.Name.Value, value)
		for _, statement := range loop.Do {
			r.statement(statement, input)
		}
	}
	return len(list.Items) > 0
}

// unknown matches a variable without a known value within a word: it may well be empty.
var unknown = pattern.Lazy(`([\w-])\$\{\w+\}|\$\{\w+\}([\w-])`)

// call adds a simple command.
func (r *reader) call(call *syntax.CallExpr, input string) {
	r.scope.assign(call.Assigns)
	words := make([]string, 0, len(call.Args)+len(call.Assigns))
	for _, each := range call.Assigns {
		if each.Name != nil && len(call.Args) > 0 {
			value := r.scope.literal(each.Value)
			words = append(words, each.Name.Value+"="+value)
			if heldCommand().MatchString(each.Name.Value) {
				r.text(value)
			}
		}
	}
	words = append(words, r.scope.fields(call.Args)...)
	if len(call.Args) == 0 {
		return
	}
	r.command(words, input, false)
	if at := slices.Index(words, "tee"); at >= 0 { // once it is over
		for _, file := range words[at+1:] {
			r.files[path.Clean(file)] = input
		}
	}
	if joined := strings.Join(words, "\x00"); unknown().MatchString(joined) {
		r.command(strings.Split(unknown().ReplaceAllString(joined, "$1$2"), "\x00"), input, false)
	}
}
