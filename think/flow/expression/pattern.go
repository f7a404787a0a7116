package expression

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// pattern is a regular expression (RE2) with the size of its program. A match
// spends that size times the length of the text.
type pattern struct {
	source       string
	compiled     *regexp.Regexp
	instructions int
}

func newPattern(source string) (*pattern, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("the pattern has more than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if wrong, is := errors.AsType[*syntax.Error](err); is {
		return nil, fmt.Errorf("the pattern is wrong: %s: %s", wrong.Code, quote(wrong.Expr))
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxInstructions {
		return nil, errors.New("the pattern repeats too much")
	}
	compiled, err := regexp.Compile(source)
	return &pattern{source, compiled, len(program.Inst)}, err
}

// CheckPattern says what is wrong with a text as the right side of matches, or nil.
func CheckPattern(source string) error {
	_, err := newPattern(source)
	return err
}

// compileSteps is spent to compile a pattern at run time.
const compileSteps = 500

// matching is matches. It compiles a computed pattern and keeps the last one, so
// that a loop with the same pattern compiles it once.
func matching(e *evaluation) any {
	constant, ok := e.args[1].(*pattern)
	if !ok {
		constant = e.dynamicPattern()
	}
	text := e.str(0)
	if e.err != nil || !e.spend(len(text)*constant.instructions/bytesPerStep) {
		return nil
	}
	return constant.compiled.MatchString(text)
}

func (e *evaluation) dynamicPattern() *pattern {
	source := e.str(1)
	if e.pattern != nil && e.pattern.source == source {
		return e.pattern
	}
	if !e.spend(compileSteps) {
		return nil
	}
	compiled, err := newPattern(source)
	if err != nil {
		e.fail("%s", err)
		return nil
	}
	e.pattern = compiled
	return compiled
}
