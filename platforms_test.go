package savant_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// TestOtherSystems type-checks all code, tests and libraries for Windows and macOS; it does
// not run them. It reads the imports' sources, because compiling them takes ten times as
// long, and Go's own without the bodies of functions, which are right on every system.
func TestOtherSystems(t *testing.T) {
	if os.Getenv("CI") == "" {
		t.Skip("it takes a while: CI=true, or make platforms")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	own := strings.TrimSpace(string(root)) + string(os.PathSeparator)
	for _, system := range []string{"windows", "darwin"} {
		list, err := packages.Load(&packages.Config{
			Mode: packages.LoadAllSyntax &^ packages.NeedTypesInfo, Tests: true, Context: t.Context(),
			Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
			ParseFile: func(set *token.FileSet, name string, source []byte) (*ast.File, error) {
				file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution|parser.AllErrors)
				if file != nil && strings.HasPrefix(name, own) {
					for _, each := range file.Decls {
						if function, ok := each.(*ast.FuncDecl); ok {
							function.Body = nil
						}
					}
				}
				return file, err
			},
		}, "./...")
		require.NoError(t, err)
		require.Greater(t, len(list), 100)
		packages.Visit(list, nil, func(p *packages.Package) {
			if len(p.GoFiles) == 0 || !strings.HasPrefix(p.GoFiles[0], own) { // without bodies, imports are unused
				require.Empty(t, p.Errors, "errors in %s for %s", p.ID, system)
			}
		})
	}
}
