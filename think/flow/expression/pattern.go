package expression

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// pattern is a regular expression (RE2) with its size. Matching takes time in
// proportion to that size and the text, which is what a match spends.
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
	if err != nil {
		return nil, invalidPattern(err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, invalidPattern(err)
	}
	if len(program.Inst) > maxInstructions {
		return nil, errors.New("the pattern repeats too much")
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return nil, invalidPattern(err)
	}
	return &pattern{source, compiled, len(program.Inst)}, nil
}

func invalidPattern(err error) error {
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		return fmt.Errorf("the pattern is wrong: %s: %s", wrong.Code, quote(wrong.Expr))
	}
	return errors.New("the pattern is wrong")
}

// compileSteps is spent to compile a pattern at run time.
const compileSteps = 500

// matching is matches. A pattern that is computed is compiled here; the last
// one is kept, so that a loop over one pattern compiles it once.
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
