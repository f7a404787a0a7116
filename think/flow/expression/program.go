package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"savant/fault"
)

// Program is a compiled expression. It is immutable and safe for concurrent use.
type Program struct {
	source     string
	references []Reference
	certain    []string
	lists      []ListRead
	unclear    bool
	plain      *path // the only read of an expression that is nothing else, else nil
	code       *vm.Program
}

// Compile compiles an expression; the scope defines its names. Errors are *Error:
// EXPRESSION_ERROR for syntax, UNRESOLVED_VAR and AMBIGUOUS_NAME for names.
func Compile(source string, scope Scope) (program *Program, err error) {
	defer unreadable(&program, &err)
	if err := checkSource(source, scope.scale()); err != nil {
		return nil, err
	}
	tree, err := parser.ParseWithConfig(source, newConfig(scope.scale()))
	if err != nil {
		return nil, parseError(source, err)
	}
	return compileNode(source, tree.Node, scope, effect{})
}

// Part compiles a part of the expression's tree, or what is made of such parts, that reads
// none of its names.
func (p *Program) Part(node ast.Node) (program *Program, err error) {
	defer unreadable(&program, &err)
	return compileNode(p.source, node, Scope{}, effect{})
}

// unreadable makes a panic of the parser an error.
func unreadable(program **Program, err *error) {
	if recover() != nil {
		*program, *err = nil, invalid(0, "the expression cannot be read")
	}
}

// compileNode compiles a part of a parsed source.
func compileNode(source string, node ast.Node, scope Scope, by effect) (*Program, error) {
	rewriter := &rewriter{scope: scope, source: source, negative: by.flipped, unclear: by.unclear}
	rewritten := rewriter.result(node)
	tree := &parser.Tree{Node: rewritten, Source: file.NewSource(source)}
	if rewriter.err != nil {
		return nil, rewriter.err
	}
	code, err := translate(tree, newConfig(scope.scale()))
	if err != nil {
		return nil, invalid(0, notCompiled)
	}
	return &Program{source, distinct(rewriter.references), rewriter.certain, rewriter.lists, rewriter.isUnclear, plainRead(rewritten), code}, nil
}

// machines are idle machines, without any value. A new one for each evaluation would
// take a third of its time.
var machines = sync.Pool{New: func() any { return &vm.VM{Stack: make([]any, 0, 8), MemoryBudget: maxItems} }}

// Parse returns the syntax tree of the expression as it was written. Each call returns
// a new tree.
func (p *Program) Parse() (ast.Node, error) {
	tree, err := parser.ParseWithConfig(p.source, newConfig(longer))
	if err != nil {
		return nil, parseError(p.source, err)
	}
	return tree.Node, nil
}

// Offset returns the byte of the expression at which a node of its tree begins.
func (p *Program) Offset(node ast.Node) int { return byteOffset(p.source, node.Location().From) }

// newConfig returns a strict configuration: no variables, no builtins, only the
// functions of this package. It holds a cache, so each compilation needs its own.
func newConfig(scale uint) *conf.Config {
	config := &conf.Config{
		ExpectAny: true, ShortCircuit: true, MaxNodes: scale * maxNodes, Functions: callable,
	}
	config.WithEnv(nil)
	return config
}

// Messages of the checks that follow the rewriter. No expression is known that fails
// them.
const (
	notCompiled  = "the expression cannot be compiled"
	notEvaluated = "the expression cannot be evaluated"
)

// translate compiles a rewritten tree. expr-lang's checker is a second line of
// defense: it refuses any name that the rewriter did not replace.
func translate(tree *parser.Tree, config *conf.Config) (*vm.Program, error) {
	if _, err := checker.Check(tree, config); err != nil {
		return nil, err
	}
	return compiler.Compile(tree, config)
}

func checkSource(source string, scale uint) *Error {
	switch limit := int(scale) * maxSource; {
	case len(source) > limit:
		return invalid(limit, fmt.Sprintf("the expression has more than %d bytes", limit))
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
// source order. A name with both hard and soft reads is reported as hard.
func (p *Program) References() []Reference { return slices.Clone(p.references) }

// Eval returns the value of the expression, always the same for the same Env.
// Errors are *Error with EXPRESSION_ERROR.
func (p *Program) Eval(env Env) (value any, err error) {
	defer func() {
		if recover() != nil {
			value, err = nil, invalid(0, notEvaluated)
		}
	}()
	if p.plain != nil {
		e := &evaluation{env: env, args: []any{p.plain}}
		if value = get(e); e.err == nil {
			return value, nil // else the machine says where it failed
		}
	}
	machine := machines.Get().(*vm.VM)
	value, err = machine.Run(p.code, &evaluation{env: env})
	clear(machine.Stack[:cap(machine.Stack)])
	clear(machine.Variables)
	machines.Put(machine) // not after a panic
	if err != nil {
		return nil, evaluationError(p.source, err)
	}
	return value, nil
}

// Certain returns the captures with a hard read that every evaluation reaches, unless it
// fails before.
func (p *Program) Certain() []string { return slices.Clone(p.certain) }

// Absent returns the capture that an evaluation reads although the Env gives NoCapture
// for it, "" where there is none.
func (p *Program) Absent(env Env) string {
	_, err := p.Eval(env)
	return AbsentOf(err)
}

// AbsentOf returns the capture because of which an evaluation failed, or "".
func AbsentOf(err error) string {
	var failed *Error
	if errors.As(err, &failed) {
		return failed.Absent
	}
	return ""
}

// result rewrites a whole expression, inside a call that checks its result.
func (r *rewriter) result(root ast.Node) ast.Node {
	checked := call("+result", root, r.node(root, false))
	checked.SetLocation(root.Location())
	return checked
}
