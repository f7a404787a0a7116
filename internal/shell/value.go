package shell

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"savant/internal/pattern"
)

var (
	// commandMember matches the members of a tool's input that hold a text for a shell.
	commandMember = pattern.Lazy(`(?i)command|cmd|(^|_)script`)
	// argumentMember matches those that hold the arguments of the program beside them.
	argumentMember = pattern.Lazy(`(?i)^arg(ument)?(s|v|_?list)$`)
	blanks         = pattern.Lazy(`\s+`)
	// bundle matches options of one letter each that stand together.
	bundle = pattern.Lazy(`^-[A-Za-z]{2,}$`)
)

// Of returns the commands in a text for a shell, in a list of texts or of words, or in the input
// of a tool, each once, in any order: also those in substitutions, functions and branches, those
// that another program is to start (sudo, env, xargs, find -exec), those in texts that are given to
// a shell (sh -c, eval, a here-document) or to a language that starts programs, and those of a
// script that the text writes and runs. Of a text that no shell of the POSIX kind can read, it takes
// the words as they stand.
func Of(value any) (found []Command, err error) {
	defer func() { // the library for expansions gives up at some, such as ${x@Q$y}
		if failed := recover(); failed != nil {
			found, err = nil, fmt.Errorf("it cannot be told what it expands to: %v", failed)
		}
	}()
	r := &reader{seen: map[string]bool{}}
	r.value(value)
	if r.spent() {
		return nil, fmt.Errorf("it has more than %d KB, %d commands, %d words or %d brackets within each other, texts within texts, or too many steps",
			maxText>>10, maxCommands, maxWords, maxNested)
	}
	return r.found, nil
}

// value adds the commands of a value. A shell of its own reads each text in it.
func (r *reader) value(value any) {
	if r.work += stepWork; r.spent() {
		return
	}
	var parts []any
	switch v := value.(type) {
	case string:
		r.scope, r.functions, r.files = scope{map[string]expand.Variable{}, &r.work}, map[string]*syntax.Stmt{}, map[string]string{}
		r.text(v)
	case []any:
		words := make([]string, len(v))
		for i, each := range v {
			words[i], _ = each.(string)
		}
		r.value(strings.Join(quoted(words), " "))
		parts = v
	case map[string]any:
		parts = membersOf(v, commandMember())
		for _, program := range parts {
			for _, arguments := range membersOf(v, argumentMember()) {
				if rest, is := arguments.([]any); is {
					parts = append(parts, append([]any{program}, rest...))
				}
			}
		}
	}
	for _, part := range parts {
		r.value(part)
	}
}

func membersOf(object map[string]any, name *regexp.Regexp) (all []any) {
	for _, each := range slices.Sorted(maps.Keys(object)) {
		if name.MatchString(each) {
			all = append(all, object[each])
		}
	}
	return all
}

// Flags returns the options: -rf as -r and -f, and --name=value as --name.
func (c Command) Flags() (flags []string) {
	for _, word := range c.Args {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case bundle().MatchString(word):
			for _, letter := range word[1:] {
				flags = append(flags, "-"+string(letter))
			}
		case strings.HasPrefix(name, "-"):
			flags = append(flags, name)
		}
	}
	return flags
}

// Text returns the words with a blank between them, and _ in place of blanks within a word.
func (c Command) Text() string {
	words := append([]string{c.Name}, c.Args...)
	for i, word := range words {
		words[i] = blanks().ReplaceAllString(word, "_")
	}
	return strings.Join(words, " ")
}
