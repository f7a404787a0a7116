package expression

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"savant/fault"
)

// Program is a compiled expression. It never changes and may be evaluated by
// several goroutines at once.
type Program struct {
	source     string
	references []Reference
	run        evaluator
}

// evaluator is what a Program is compiled to: code for the virtual machine, or
// the one read that it is. Its errors are those of the virtual machine.
type evaluator interface {
	evaluate(*evaluation) (any, error)
}

// Compile reads an expression whose names mean what the scope says. Errors are
// *Error: EXPRESSION_ERROR for what is not of the language, UNRESOLVED_VAR and
// AMBIGUOUS_NAME for names.
func Compile(source string, scope Scope) (program *Program, err error) {
	defer func() {
		if recover() != nil {
			program, err = nil, invalid(0, "the expression cannot be read")
		}
	}()
	if err := checkSource(source); err != nil {
		return nil, err
	}
	config := newConfig()
	tree, err := parse(source, config)
	if err != nil {
		return nil, parseError(source, err)
	}
	rewriter := &rewriter{scope: scope, source: source}
	tree.Node = rewriter.result(tree.Node)
	if rewriter.err != nil {
		return nil, rewriter.err
	}
	run, err := translate(tree, config)
	if err != nil {
		return nil, invalid(0, notCompiled)
	}
	return &Program{source, distinct(rewriter.references), run}, nil
}

// newConfig returns a strict configuration: no variables, no builtins, only
// the functions of this package. The cache in it is not for sharing.
func newConfig() *conf.Config {
	config := &conf.Config{
		ExpectAny: true, ShortCircuit: true, MaxNodes: maxNodes, Functions: callable,
	}
	config.WithEnv(nil)
	return config
}

// What is said where a wall behind the rewriter had to stop something. No
// source is known that gets so far.
const (
	notCompiled  = "the expression cannot be compiled"
	notEvaluated = "the expression cannot be evaluated"
)

// translate compiles a rewritten tree. The checker is a second wall: a name
// that the rewriter left is an unknown name to it. The program would keep the
// tree, for its disassembler; without, a typical one takes 3 KB and not 8.
func translate(tree *parser.Tree, config *conf.Config) (evaluator, error) {
	if read := soleRead(tree.Node); read != nil {
		return read, nil
	}
	if _, err := checker.Check(tree, config); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(tree, config)
	if root, ok := tree.Node.(*ast.CallNode); ok {
		root.Callee, root.Arguments = nil, nil
	}
	return code{compiled}, err
}

// code is a program of the virtual machine.
type code struct{ *vm.Program }

func (c code) evaluate(e *evaluation) (any, error) {
	machine := vm.VM{MemoryBudget: maxItems}
	return machine.Run(c.Program, e)
}

func checkSource(source string) *Error {
	switch {
	case len(source) > maxSource:
		return invalid(maxSource, fmt.Sprintf("the expression has more than %d bytes", maxSource))
	case !utf8.ValidString(source):
		return invalid(0, "the expression is not valid UTF-8")
	case strings.TrimSpace(source) == "":
		return invalid(0, "the expression is empty")
	}
	return nil
}

func invalid(offset int, message string) *Error {
	return &Error{Code: fault.ExpressionError, Offset: offset, Message: message}
}

// Source returns the expression as it was written.
func (p *Program) Source() string { return p.source }

// References returns what the expression reads, each root and name once, in
// the order of the source. A name read both ways is a hard read.
func (p *Program) References() []Reference { return slices.Clone(p.references) }

// Eval returns the value of the expression: the same bytes for the same
// values, always. Errors are *Error with EXPRESSION_ERROR.
func (p *Program) Eval(env Env) (value any, err error) {
	defer func() {
		if recover() != nil {
			value, err = nil, invalid(0, notEvaluated)
		}
	}()
	value, err = p.run.evaluate(&evaluation{env: env})
	if err != nil {
		return nil, evaluationError(p.source, err)
	}
	return value, nil
}

// result rewrites a whole expression. The call around it checks what comes
// out.
func (r *rewriter) result(root ast.Node) ast.Node {
	checked := call("+result", root, r.node(root, false))
	checked.SetLocation(root.Location())
	return checked
}
