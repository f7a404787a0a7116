package expression

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/file"

	"savant/fault"
	lazy "savant/internal/pattern"
)

// Error is an error in a source or of an evaluation.
type Error struct {
	// Code is EXPRESSION_ERROR, UNRESOLVED_VAR, AMBIGUOUS_NAME, or for a text
	// that grew too long TEMPLATE_RENDER_ERROR.
	Code fault.Code
	// Offset is the byte in the source that the message is about.
	Offset int
	// Message is one line, without code and place.
	Message string
	// Missing says that a member was read which is not there.
	Missing bool
	// Absent names the capture that was read although its step has none.
	Absent string
	// Exceeded says that the evaluation took more than it may.
	Exceeded bool
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s (at byte %d)", e.Code, e.Message, e.Offset)
}

// Unwrap makes the code visible to errors.Is.
func (e *Error) Unwrap() error { return e.Code }

// failure is an error inside the virtual machine. Unless placed is set, it happened at
// the operation that the machine reports; a missing member sets its own position.
type failure struct {
	message string
	offset  int
	placed  bool
	absent  string // the capture that was read and is not there
	// exceeded says that a budget is spent.
	exceeded bool
}

func (f *failure) Error() string { return f.message }

// evaluationError converts an error of the virtual machine. It passes on only
// messages of this package: those of the Go runtime name types and addresses.
func evaluationError(source string, err error) *Error {
	failed := &Error{Code: fault.ExpressionError, Message: notEvaluated}
	var place *file.Error
	if errors.As(err, &place) {
		failed.Offset = byteOffset(source, place.From)
		if strings.Contains(place.Message, "memory budget exceeded") {
			failed.Message, failed.Exceeded = itemsExceeded, true
		}
	}
	var inner *failure
	if errors.As(err, &inner) {
		failed.Message, failed.Absent, failed.Exceeded = inner.message, inner.absent, inner.exceeded
		if failed.Missing = inner.placed; inner.placed {
			failed.Offset = inner.offset
		}
	}
	return failed
}

// parseError converts an error of the parser.
func parseError(source string, err error) *Error {
	failed := &Error{Code: fault.ExpressionError, Message: "the expression cannot be read"}
	var place *file.Error
	if errors.As(err, &place) {
		failed.Offset = byteOffset(source, place.From)
		failed.Message = fault.Cut(plain(place.Message), maxMessage)
	}
	if strings.HasSuffix(failed.Message, "literal") {
		failed.Offset = numberBefore(source, failed.Offset)
	}
	if _, rest, ok := strings.Cut(source, opening); ok {
		if _, closes := expressionEnd(rest); !closes {
			return unclosed(rest, len(source)-len(rest))
		}
	}
	switch fix := hints[failed.Message]; {
	case failed.Message == openQuote:
	case strings.Contains(source, "$"+opening):
		failed.Message = "an expression stands here without ${{ }}"
	case strings.Contains(source, opening):
		failed.Message = "an expression stands here without {{ }}"
	case strings.Contains(source, "=>"):
		failed.Message = "a predicate is written without =>, as in filter(list, .size > 1)"
	case fix != "":
		failed.Message += ": " + fix
	default:
		failed.filter(source)
	}
	return failed
}

// uncalled matches a function behind | that is not called.
var uncalled = lazy.Lazy(`\|\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:$|[^\sA-Za-z0-9_(])`)

// filter rewords an error about x | name, as other languages write filters.
func (e *Error) filter(source string) {
	match := uncalled().FindStringSubmatchIndex(source)
	if match == nil || strings.HasPrefix(source[match[0]:], "||") || match[0] > 0 && source[match[0]-1] == '|' {
		return
	}
	name := source[match[2]:match[3]]
	e.Offset = match[2]
	if _, known := functions[name]; known {
		e.Message = fmt.Sprintf("a function behind | is called: write | %s() or %s(…)", name, name)
		return
	}
	e.Message = noFunction(name)
	if meant := similar[name]; meant != "" {
		if _, known := functions[meant]; known {
			e.Message += fmt.Sprintf(", as in %s(…)", meant)
		}
	}
}

// tokens matches a token as the parser prints it: Operator("=").
var tokens = lazy.Lazy(`token (?:[A-Z][a-z]+)\("(.*)"\)`)

const openQuote = "a quote is not closed"

// plain rewords a message of the parser.
func plain(message string) string {
	switch {
	case strings.Contains(message, "exceeds maximum allowed nodes"):
		return fmt.Sprintf("the expression has more than %d parts", maxNodes)
	case strings.HasPrefix(message, "invalid ") && strings.Contains(message, " literal: "):
		kind, _, _ := strings.Cut(message, ":") // what follows is of strconv
		return kind
	case message == "unexpected token EOF":
		return "the expression ends too early"
	case message == "literal not terminated":
		return openQuote
	}
	return tokens().ReplaceAllString(message, `"$1"`)
}

// numberBefore returns where the number before an offset begins. The parser
// reports an invalid number at the token after it.
func numberBefore(source string, offset int) int {
	before := strings.TrimRight(source[:offset], " \t\r\n")
	return 1 + strings.LastIndexFunc(before, func(char rune) bool {
		return char != '.' && char != '_' && !unicode.IsLetter(char) && !unicode.IsDigit(char)
	})
}

// hints has fixes of common mistakes by the parser's message.
var hints = map[string]string{
	`unexpected "="`:   "use == to compare",
	`unexpected "}"`:   "a brace is closed that was not opened",
	`unexpected ")"`:   "a parenthesis is closed that was not opened, or something is missing before it",
	`unexpected "AND"`: "write and, or &&",
	`unexpected "OR"`:  "write or, or ||",
	`unexpected "NOT"`: "write not, or !",
	`unexpected "is"`:  "use == to compare",
	`unexpected "if"`:  "write condition ? a : b",
	`unexpected "."`:   "the item of a predicate, as in .name, is known only inside map, filter and the like",
	`unexpected "#"`:   "the item of a predicate, as in #, is known only inside map, filter and the like",
	`unexpected "&"`:   "write and, or &&",
	`unexpected ":"`:   "write an object that a predicate gives in parentheses, as in map(list, ({a: .b}))",
}

// byteOffset returns where in the source its rune number runes begins.
func byteOffset(source string, runes int) int {
	for offset := range source {
		if runes == 0 {
			return offset
		}
		runes--
	}
	return len(source)
}

// maxQuoted is how many bytes of a value a message shows, maxMessage how many of
// a message of the parser.
const (
	maxQuoted  = 60
	maxMessage = 300
)

func quote(text string) string { return strconv.Quote(fault.Cut(text, maxQuoted)) }
