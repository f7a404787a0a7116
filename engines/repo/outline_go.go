package repo

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strings"

	"savant/fault"
)

// goDefinitions parses Go, tolerating syntax errors.
func goDefinitions(source string) ([]definition, string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution|parser.AllErrors)
	note := ""
	if err != nil {
		note = "the file does not parse; definitions after an error may be missing"
	}
	found := []definition{}
	if file == nil {
		return found, note
	}
	g := goOutline{files: files, found: found}
	for _, each := range file.Decls {
		switch declared := each.(type) {
		case *ast.FuncDecl:
			g.function(declared)
		case *ast.GenDecl:
			g.group(declared)
		}
	}
	return g.found, note
}

type goOutline struct {
	files *token.FileSet
	found []definition
}

func (g *goOutline) add(name, kind string, node ast.Node, signature string) {
	g.found = append(g.found, definition{Name: name, Kind: kind, Line: g.files.Position(node.Pos()).Line,
		EndLine: g.files.Position(node.End()).Line, Signature: fault.Cut(strings.Join(strings.Fields(signature), " "), maxSignature)})
}

func (g *goOutline) function(declared *ast.FuncDecl) {
	kind, name := "function", declared.Name.Name
	if declared.Recv != nil && len(declared.Recv.List) == 1 {
		kind = "method"
		receiver := strings.TrimPrefix(g.print(declared.Recv.List[0].Type), "*")
		receiver, _, _ = strings.Cut(receiver, "[")
		name = receiver + "." + name
	}
	g.add(name, kind, declared, g.print(&ast.FuncDecl{Recv: declared.Recv, Name: declared.Name, Type: declared.Type}))
}

func (g *goOutline) group(declared *ast.GenDecl) {
	for _, spec := range declared.Specs {
		switch each := spec.(type) {
		case *ast.TypeSpec:
			g.add(each.Name.Name, typeKind(each.Type), each, "type "+g.head(each))
		case *ast.ValueSpec:
			for _, name := range each.Names {
				if name.Name != "_" {
					g.add(name.Name, declared.Tok.String(), each, declared.Tok.String()+" "+firstLine(g.print(each)))
				}
			}
		}
	}
}

func typeKind(of ast.Expr) string {
	switch of.(type) {
	case *ast.StructType:
		return "struct"
	case *ast.InterfaceType:
		return "interface"
	}
	return "type"
}

// head is a type without its members.
func (g *goOutline) head(of *ast.TypeSpec) string {
	short := *of
	switch of.Type.(type) {
	case *ast.StructType:
		short.Type = ast.NewIdent("struct")
	case *ast.InterfaceType:
		short.Type = ast.NewIdent("interface")
	}
	return firstLine(g.print(&short))
}

// print formats a node as Go; after a syntax error as far as possible.
func (g *goOutline) print(node any) string {
	var out strings.Builder
	if err := printer.Fprint(&out, g.files, node); err != nil {
		return ""
	}
	return out.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
