package shell

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"savant/internal/pattern"
)

// scope are the variables that a text gave values, as far as it can be told.
type scope struct {
	values map[string]expand.Variable
	// work counts what expansions take, see maxWork.
	work *int
}

// maxValue bounds a variable, and maxFields the words that others expand to: both can grow
// with each use.
const (
	maxValue  = 1 << 10
	maxFields = 1000
	maxParts  = 100 // of one word
	maxBraces = 16  // of one word: each may double it
)

// Get implements expand.Environ. A variable without a value is its own name.
func (s scope) Get(name string) expand.Variable {
	if known, is := s.values[name]; is {
		return known
	}
	if strings.TrimLeft(name, "@*#0123456789") == "" || name == "IFS" {
		return expand.Variable{}
	}
	return expand.Variable{Set: true, Kind: expand.String, Str: "${" + name + "}"}
}

// Each implements expand.Environ.
func (s scope) Each(each func(string, expand.Variable) bool) { maps.All(s.values)(each) }

func (s scope) set(name, value string) {
	s.values[name] = expand.Variable{Set: true, Kind: expand.String, Str: value[:min(len(value), maxValue)]}
}

// with returns a scope with the arguments of a function.
func (s scope) with(arguments []string) scope {
	inner := scope{maps.Clone(s.values), s.work}
	inner.values["@"] = expand.Variable{Set: true, Kind: expand.Indexed, List: arguments}
	for i, argument := range arguments[:min(len(arguments), maxParts)] {
		inner.set(strconv.Itoa(i+1), argument)
	}
	return inner
}

// assign gives variables their values.
func (s scope) assign(all []*syntax.Assign) {
	for _, each := range all {
		switch {
		case each.Name == nil || each.Naked:
		case each.Array != nil:
			var values []*syntax.Word
			for _, element := range each.Array.Elems {
				if element.Value != nil {
					values = append(values, element.Value)
				}
			}
			list := s.fields(values)
			if each.Append {
				list = slices.Concat(s.values[each.Name.Value].List, list)
			}
			s.values[each.Name.Value] = expand.Variable{Set: true, Kind: expand.Indexed, List: list[:min(len(list), maxFields)]}
		case each.Append:
			s.set(each.Name.Value, s.values[each.Name.Value].String()+s.literal(each.Value))
		default:
			s.set(each.Name.Value, s.literal(each.Value))
		}
	}
}

func (s scope) config() *expand.Config {
	return &expand.Config{Env: s, CmdSubst: func(to io.Writer, of *syntax.CmdSubst) error {
		_, err := io.WriteString(to, s.printed(of.Stmts))
		return err
	}, ProcSubst: func(of *syntax.ProcSubst) (string, error) { return s.printed(of.Stmts), nil }}
}

// fields returns the words that some words expand to. One that cannot be expanded stays as its text.
func (s scope) fields(words []*syntax.Word) (all []string) {
	for _, word := range words {
		if s.tooMuch(word) {
			all = append(all, written(word))
			continue
		}
		for field, err := range expand.FieldsSeq(s.config(), word) {
			if err != nil {
				field = written(word)
			}
			*s.work += len(field)
			if all = append(all, field); err != nil || len(all) > maxFields {
				break
			}
		}
	}
	return all
}

// literal returns the text that a word expands to.
func (s scope) literal(word *syntax.Word) string {
	switch {
	case word == nil:
		return ""
	case s.tooMuch(word):
		return written(word)
	}
	text, err := expand.Literal(s.config(), word)
	if err != nil {
		return written(word)
	}
	*s.work += len(text)
	return text
}

// tooMuch reports whether it would take long to expand a word, and counts what it takes.
func (s scope) tooMuch(word *syntax.Word) bool {
	if *s.work += stepWork + int(word.End().Offset()-word.Pos().Offset()); *s.work >= maxWork {
		return true
	}
	braces := 0
	for _, part := range word.Parts {
		if text, is := part.(*syntax.Lit); is {
			braces += strings.Count(text.Value, "{")
		}
		if quoted, is := part.(*syntax.DblQuoted); is && len(quoted.Parts) > maxParts {
			return true
		}
	}
	if len(word.Parts) > maxParts || braces > maxBraces {
		return true
	}
	s.alternatives(word)
	return *s.work >= maxWork
}

// alternatives takes ${name:-text}, ${name:=text} and ${name:+text} for the text where the name has no value.
// It counts what the values of a word take, before they are written: ${name//a/text} may write a text
// for each byte of a value.
func (s scope) alternatives(word *syntax.Word) {
	syntax.Walk(word, func(node syntax.Node) bool {
		of, is := node.(*syntax.ParamExp)
		if is && of.Param != nil {
			value := s.values[of.Param.Value]
			size := len(value.Str) + len(strings.Join(value.List, " "))
			if of.Repl != nil {
				size *= 1 + len(s.literal(of.Repl.With))
			}
			*s.work += size
		}
		if *s.work >= maxWork {
			return false
		}
		if !is || of.Exp == nil || of.Param == nil || of.Exp.Op < syntax.AlternateUnset || of.Exp.Op > syntax.AssignUnsetOrNull {
			return true
		}
		if _, known := s.values[of.Param.Value]; !known {
			s.values[of.Param.Value] = expand.Variable{}
			if of.Exp.Op <= syntax.AlternateUnsetOrNull || of.Exp.Op >= syntax.AssignUnset {
				of.Exp.Op = syntax.DefaultUnset
			}
		}
		return true
	})
}

// written returns a word as it was written.
func written(word *syntax.Word) string {
	var text strings.Builder
	if err := syntax.NewPrinter().Print(&text, word); err != nil {
		return "$()"
	}
	return text.String()
}

// printed returns what statements print, and $() for one of which that cannot be told.
func (s scope) printed(statements []*syntax.Stmt) (text string) {
	for _, statement := range statements {
		text += s.printedBy(statement) + "\n"
	}
	return strings.TrimRight(text, "\n")
}

func (s scope) printedBy(statement *syntax.Stmt) string {
	switch command := statement.Cmd.(type) {
	case *syntax.Subshell:
		return s.printed(command.Stmts)
	case *syntax.Block:
		return s.printed(command.Stmts)
	case *syntax.CallExpr:
		if words := s.fields(command.Args); len(words) > 0 {
			return s.printedOf(words, statement.Redirs)
		}
	}
	return "$()"
}

func (s scope) printedOf(words []string, from []*syntax.Redirect) string {
	switch name := nameOf(words[0]); {
	case name == "echo":
		for len(words) > 1 && echoOption().MatchString(words[1]) {
			words = words[1:]
		}
		return strings.Join(words[1:], " ")
	case name == "printf":
		return formatted(words[1:])
	case name == "which", name == "command" && slices.Contains(words, "-v"):
		return words[len(words)-1]
	case name == "cat":
		if at := slices.IndexFunc(from, func(each *syntax.Redirect) bool { return each.Hdoc != nil }); at >= 0 {
			return s.literal(from[at].Hdoc)
		}
	}
	return "$()"
}

var (
	echoOption = pattern.Lazy(`^-[neE]+$`)
	// wide matches a format that fills a word with blanks or noughts: a few bytes of it make a megabyte.
	wide = pattern.Lazy(`%[^a-zA-Z%]*(\*|\d{3})`)
)

// formatted returns what printf makes of its words.
func formatted(words []string) string {
	if len(words) > 1 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	if !wide().MatchString(words[0]) {
		if text, _, err := expand.Format(nil, words[0], words[1:]); err == nil {
			return text
		}
	}
	return strings.Join(words, " ")
}
