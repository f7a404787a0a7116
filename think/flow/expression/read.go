package expression

import (
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// reading is an expression that is one read and nothing else, as most in
// templates are: state.a, file, params.x?.y[0]. It makes the two calls that the
// code for it would make and needs no virtual machine: compiling it takes half
// of the time, and it keeps 300 bytes instead of 2 KB.
type reading struct {
	path *path
	at   file.Location
}

// soleRead returns the read that a rewritten expression is, nil where it is
// more than that.
func soleRead(root ast.Node) *reading {
	_, checked := called(root, "+result")
	if len(checked) != 1 {
		return nil
	}
	at, arguments := called(checked[0], "+get")
	if len(arguments) != 1 { // a base or computed keys
		return nil
	}
	constant, ok := arguments[0].(*ast.ConstantNode)
	if !ok {
		return nil
	}
	return &reading{constant.Value.(*path), at}
}

// called returns where a call of a function stands and its arguments but for
// the evaluation; none where the node is no such call.
func called(node ast.Node, name string) (at file.Location, arguments []ast.Node) {
	call, ok := node.(*ast.CallNode)
	if !ok {
		return at, nil
	}
	if callee, ok := call.Callee.(*ast.IdentifierNode); !ok || callee.Value != name {
		return at, nil
	}
	return call.Location(), call.Arguments[1:]
}

func (r *reading) evaluate(e *evaluation) (any, error) {
	value, err := callable["+get"].Func(e, r.path)
	if err == nil {
		value, err = callable["+result"].Func(e, value)
	}
	if err != nil {
		return nil, &file.Error{Location: r.at, Prev: err}
	}
	return value, nil
}
