package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// insertion is text to put into a source at an offset.
type insertion struct {
	offset int
	text   string
}

// insert returns a source with texts put in, formatted.
func insert(source []byte, insertions ...insertion) ([]byte, error) {
	slices.SortFunc(insertions, func(a, b insertion) int { return b.offset - a.offset })
	for _, each := range insertions { // the last first, so that offsets stay
		source = slices.Insert(slices.Clone(source), each.offset, []byte(each.text)...)
	}
	return format.Source(source)
}

// withFloor returns imports_test.go with a row for an engine that stands on the
// registry alone, below the rows of the other engines.
func withFloor(source []byte, name string) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, floorsFile, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	table := variable(file, "floors")
	if table == nil {
		return nil, errors.New("there is no table floors")
	}
	var last ast.Node
	for _, row := range table.Elts {
		folder := keyOf(row)
		if folder == "engines/"+name {
			return nil, fmt.Errorf("engines/%s has a row", name)
		}
		if strings.HasPrefix(folder, "engines/") {
			last = row
		}
	}
	if last == nil {
		return nil, errors.New("floors has no row of an engine")
	}
	row := fmt.Sprintf(",\n%q: {height: 3, imports: []string{\"engines\"}}", "engines/"+name)
	return insert(source, insertion{files.Position(last.End()).Offset, row})
}

// variable returns the composite literal that a variable of the file holds.
func variable(file *ast.File, name string) *ast.CompositeLit {
	var found *ast.CompositeLit
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if ok && spec.Names[0].Name == name && len(spec.Values) == 1 {
			found, _ = spec.Values[0].(*ast.CompositeLit)
		}
		return found == nil
	})
	return found
}

// keyOf returns the text that is the key of a row, or "".
func keyOf(row ast.Expr) string {
	pair, ok := row.(*ast.KeyValueExpr)
	if !ok {
		return ""
	}
	key, ok := pair.Key.(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, err := strconv.Unquote(key.Value)
	if err != nil {
		return ""
	}
	return text
}

// importLine imports the package of an engine, as another name where that is
// not its own.
func importLine(name, as string) string {
	line := strconv.Quote("savant/engines/" + name)
	if as != name {
		line = as + " " + line
	}
	return line
}

func engineLine(as string) string {
	return fmt.Sprintf("h.tools.AddEngine(%s.Engine(), %s.Tools()...)", as, as)
}

// withEngine returns house.go with an engine added: one more import, and one
// more argument of the errors.Join that addEngines returns. A house that is not
// of this shape is an error.
func withEngine(source []byte, name, as string) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, houseFile, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	imported := importOf(file, "savant/engines")
	joined := joinedBy(file, "addEngines")
	if imported == nil || joined == nil {
		return nil, errors.New("it is not of the shape expected")
	}
	return insert(source,
		insertion{files.Position(imported.End()).Offset, "\n" + importLine(name, as)},
		insertion{files.Position(joined.Args[len(joined.Args)-1].End()).Offset, ",\n" + engineLine(as)})
}

func importOf(file *ast.File, target string) *ast.ImportSpec {
	for _, each := range file.Imports {
		if each.Path.Value == strconv.Quote(target) && each.Name == nil {
			return each
		}
	}
	return nil
}

// joinedBy returns the call errors.Join(…) that a function ends with, or nil.
func joinedBy(file *ast.File, function string) *ast.CallExpr {
	for _, declared := range file.Decls {
		body, ok := declared.(*ast.FuncDecl)
		if !ok || body.Name.Name != function || body.Body == nil || len(body.Body.List) == 0 {
			continue
		}
		last, ok := body.Body.List[len(body.Body.List)-1].(*ast.ReturnStmt)
		if !ok || len(last.Results) != 1 {
			return nil
		}
		call, ok := last.Results[0].(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return nil
		}
		called, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || called.Sel.Name != "Join" {
			return nil
		}
		return call
	}
	return nil
}
