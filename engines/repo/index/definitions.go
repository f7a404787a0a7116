package index

import "bytes"

// definers are the keywords that begin a definition, in any language.
var definers = wordSet("func type class def fn struct enum trait interface impl module namespace function record object macro " +
	"message service rpc defmodule defmacro protocol extension union typedef sub proc package const var let val static")

// modifiers may stand before a definer.
var modifiers = wordSet("pub public private protected internal static export default async abstract final unsafe extern inline " +
	"virtual override sealed data open partial readonly declare const crate in")

// atMargin are definers that can also declare local names. They count only on a
// line without indentation.
var atMargin = wordSet("const var let val static")

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range bytes.FieldsSeq([]byte(list)) {
		set[string(word)] = true
	}
	return set
}

// maxBeforeName is how many words of a line are examined for a definer.
const maxBeforeName = 5

// definition returns the name that a line defines: Serve for "func (s *Server)
// Serve(", the whole heading for "# Getting started" in Markdown.
func definition(line []byte, language string) (name span, ok bool) {
	indented := len(line) > 0 && (line[0] == ' ' || line[0] == '\t')
	text := bytes.TrimLeft(line, " \t")
	if len(text) == 0 {
		return span{}, false
	}
	if text[0] == '#' && !bytes.HasPrefix(text, []byte("#define ")) {
		if language == "markdown" && !indented {
			return span{1, len(line)}, true
		}
		return span{}, false
	}
	if c := kinds[text[0]]; c != lower && text[0] != '#' {
		return span{}, false
	}
	return definedAfter(line, language, indented)
}

// definedAfter reads the words of a line up to the one after a definer.
func definedAfter(line []byte, language string, indented bool) (span, bool) {
	at := 0
	for range maxBeforeName {
		word, ok := nextWord(line, at)
		if !ok {
			return span{}, false
		}
		said := line[word.start:word.end]
		at = word.end
		if string(said) == "define" && word.start > 0 && line[word.start-1] == '#' || definers[string(said)] && !(indented && atMargin[string(said)]) {
			return definedName(line, at, language)
		}
		if !modifiers[string(said)] {
			return span{}, false
		}
	}
	return span{}, false
}

// definedName returns the name that follows a definer. It skips the receiver of a Go
// method and further definers ("static const", "enum class").
func definedName(line []byte, at int, language string) (span, bool) {
	for at < len(line) && line[at] == ' ' {
		at++
	}
	if at < len(line) && line[at] == '(' {
		closing := bytes.IndexByte(line[at:], ')')
		if closing < 0 || language != "go" {
			return span{}, false
		}
		at += closing
	}
	for {
		name, ok := nextWord(line, at)
		if said := line[name.start:name.end]; !ok || !definers[string(said)] && !modifiers[string(said)] && string(said) != "mut" {
			return name, ok
		}
		at = name.end
	}
}
