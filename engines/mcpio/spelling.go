package mcpio

import (
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/internal/pattern"
)

var (
	// dottedWord matches a word in a text that may be a canonical tool name.
	dottedWord = pattern.Lazy(`[A-Za-z0-9_/-]+(?:\.[A-Za-z0-9_/-]+)+`)
	// command matches a command of the program in a text: the name in lower case and
	// the first word after it.
	command = pattern.Lazy(`(^|[^A-Za-z0-9_./-])savant( [a-z]+)`)
)

// isDotted reports whether a client, by the name it sends, sees dotted names: only
// Savant's own client, whose names are for people. Others pass the names to a model's
// API, which allows [A-Za-z0-9_-] only. Calls are accepted in both spellings.
func isDotted(client string) bool { return strings.EqualFold(client, "savant") }

// spell adapts one of Savant's texts to a client: listed tools get the name of its
// list, and commands begin with Options.Command.
func (s *Server) spell(client, text string) string {
	if s.options.Command != "" && strings.Contains(text, "savant ") {
		text = command().ReplaceAllStringFunc(text, func(found string) string {
			return strings.Replace(found, "savant", s.options.Command, 1)
		})
	}
	if isDotted(client) || !strings.Contains(text, ".") {
		return text
	}
	return dottedWord().ReplaceAllStringFunc(text, func(word string) string {
		if tool, known := s.Tool(word); known && tool.Name == word {
			return engines.Underscored(word)
		}
		return word
	})
}

// speller is spell for the client of a request.
func (r *request) speller() func(text string) string {
	client := r.Peer.Name
	return func(text string) string { return r.connection.server.spell(client, text) }
}

// spelled adapts the texts of an error to the client.
func spelled(err error, spell func(text string) string) error {
	if err == nil {
		return nil
	}
	failure := *fault.From(err)
	failure.Details, failure.Hint = spell(failure.Message()), fault.Hint{}
	failure.Diagnostics = append([]fault.Diagnostic(nil), failure.Diagnostics...)
	for i := range failure.Diagnostics {
		failure.Diagnostics[i].Message = spell(failure.Diagnostics[i].Message)
	}
	return &failure
}
