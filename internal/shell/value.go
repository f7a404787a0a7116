package shell

import (
	"maps"
	"regexp"
	"slices"
	"strings"

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

// Of returns the commands in a text, in a list of texts or of words, or in the input of a tool.
func Of(value any) (all []Command, err error) {
	var parts []any
	switch v := value.(type) {
	case string:
		return Commands(v)
	case []any:
		words := make([]string, len(v))
		for i, each := range v {
			words[i], _ = each.(string)
		}
		if all, err = ofWords(words); err != nil {
			return nil, err
		}
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
		found, err := Of(part)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
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

// Text returns the words with a blank between them, and _ in place of each within a word.
func (c Command) Text() string {
	text := c.Name
	for _, word := range c.Args {
		text += " " + blanks().ReplaceAllString(word, "_")
	}
	return text
}
