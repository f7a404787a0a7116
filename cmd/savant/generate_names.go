package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// importName is what house.go calls the package of a new engine: its name, and
// something longer where that means something else there.
func importName(tree *os.Root, name string) (string, error) {
	taken, err := namesTaken(tree)
	if err != nil {
		return "", err
	}
	for taken[name] || name == "init" { // what Go predeclares may mean something else where it is not used
		name += "engine"
	}
	return name, nil
}

// namesTaken are the names that a new import of house.go cannot have: those the
// file uses or imports, and those its package declares.
func namesTaken(tree *os.Root) (map[string]bool, error) {
	taken := map[string]bool{}
	folder := path.Dir(houseFile)
	entries, err := fs.ReadDir(tree.FS(), folder)
	if err != nil {
		return nil, err
	}
	for _, each := range entries {
		name := path.Join(folder, each.Name())
		if !strings.HasSuffix(name, ".go") || !each.Type().IsRegular() {
			continue
		}
		source, err := tree.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		declared(file, taken)
		if name == houseFile {
			used(file, taken)
		}
	}
	return taken, nil
}

// declared adds what a file declares for its package.
func declared(file *ast.File, names map[string]bool) {
	for _, each := range file.Decls {
		switch declaration := each.(type) {
		case *ast.FuncDecl:
			names[declaration.Name.Name] = names[declaration.Name.Name] || declaration.Recv == nil
		case *ast.GenDecl:
			for _, spec := range declaration.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names[name.Name] = true
					}
				}
			}
		}
	}
}

// used adds the names that a file uses or imports.
func used(file *ast.File, names map[string]bool) {
	for _, each := range file.Imports {
		if target, err := strconv.Unquote(each.Path.Value); err == nil {
			names[path.Base(target)] = true
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok {
			names[name.Name] = true
		}
		return true
	})
}
