package expression

import (
	"strings"
	"unicode/utf8"
)

// ofText makes a function of the language from a Go function on a string.
func ofText(change func(string) string) function {
	return func(e *evaluation) any { return e.newText(change(e.str(0))) }
}

// ofPair makes a function of the language from a Go function on a string and an affix.
func ofPair(change func(text, affix string) string) function {
	return func(e *evaluation) any { return e.newText(change(e.str(0), e.str(1))) }
}

// trim cuts white space, or the characters of a second argument.
func trim(e *evaluation) any {
	if e.has(1) {
		text, characters := e.str(0), e.str(1)
		if !e.spend(len(text) * len(characters) / bytesPerStep) {
			return nil
		}
		return e.newText(strings.Trim(text, characters))
	}
	return e.newText(strings.TrimSpace(e.str(0)))
}

// splitting returns split or splitAfter: text, separator and at most how many
// parts.
func splitting(split func(text, separator string, parts int) []string) function {
	return func(e *evaluation) any {
		text, separator, most := e.str(0), e.str(1), e.integer(2, -1)
		count := strings.Count(text, separator) + 1
		if most >= 0 {
			count = min(count, most)
		}
		if !e.grow(count) {
			return nil
		}
		return texts(split(text, separator, most))
	}
}

// join makes one text of a list of texts.
func join(e *evaluation) any {
	items, separator := e.list(0), ""
	if e.has(1) {
		separator = e.str(1)
	}
	parts, size := make([]string, len(items)), len(separator)*max(len(items)-1, 0)
	for i, item := range items {
		part, ok := item.(string)
		if !ok {
			e.fail("join needs a list of strings, found %s at index %d: map(list, string(#)) makes strings", kind(item), i)
			return nil
		}
		parts[i], size = part, size+len(part)
	}
	if !e.produce(size) {
		return nil
	}
	return strings.Join(parts, separator)
}

// replace takes text, old, new and at most how many times. The size is known
// before the text is made.
func replace(e *evaluation) any {
	text, old, fresh, most := e.str(0), e.str(1), e.str(2), e.integer(3, -1)
	times := strings.Count(text, old)
	if most >= 0 {
		times = min(times, most)
	}
	if e.err != nil || !e.produce(len(text)+times*(len(fresh)-len(old))) {
		return nil
	}
	return strings.Replace(text, old, fresh, most)
}

func repeat(e *evaluation) any {
	text, times := e.str(0), e.integer(1, 0)
	switch {
	case times < 0:
		e.fail("repeat needs a count of 0 or more")
	case len(text) > 0 && times > maxText/len(text):
		e.produce(maxText + 1)
	case e.produce(len(text) * times):
		return strings.Repeat(text, times)
	}
	return nil
}

// position returns indexOf or lastIndexOf: the character a part begins at, or
// -1.
func position(find func(text, part string) int) function {
	return func(e *evaluation) any {
		text := e.str(0)
		at := find(text, e.str(1))
		if at < 0 {
			return at
		}
		return utf8.RuneCountInString(text[:at])
	}
}

// slice is value[from:to] of a text or a list, cut to what there is; a
// negative place counts from the end.
func slice(e *evaluation) any {
	from, to := e.integer(1, 0), e.integer(2, 0)
	switch value := e.args[0].(type) {
	case string:
		from, to = bounds(from, to, utf8.RuneCountInString(e.str(0)))
		return e.newText(value[byteOffset(value, from):byteOffset(value, to)])
	case []any:
		from, to = bounds(from, to, len(value))
		return e.copied(value[from:to])
	default:
		e.fail("only a list or a string can be sliced, found %s", kind(value))
		return nil
	}
}

func bounds(from, to, length int) (int, int) {
	place := func(index int) int {
		if index < 0 {
			index += length
		}
		return min(max(index, 0), length)
	}
	from, to = place(from), place(to)
	return from, max(from, to)
}

// copied returns a new list of the items, so that no result shares the array
// of a value it was cut from.
func (e *evaluation) copied(items []any) any {
	if !e.grow(len(items)) {
		return nil
	}
	return append(make([]any, 0, len(items)), items...)
}

// length counts characters, items or fields.
func length(e *evaluation) any {
	switch value := e.args[0].(type) {
	case string:
		return utf8.RuneCountInString(e.str(0))
	case []any:
		return len(value)
	case map[string]any:
		return len(value)
	default:
		e.fail("len needs a string, a list or an object, found %s", kind(value))
		return nil
	}
}
