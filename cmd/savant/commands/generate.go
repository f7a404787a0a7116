package commands

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/pattern"
	"savant/internal/regular"
	"savant/internal/settings"
)

//go:embed templates/*.tmpl
var templates embed.FS

func (p *program) generateCommand() *cobra.Command {
	return cli.Group("generate", "Write the files of a new part of Savant", p.generateEngineCommand())
}

func (p *program) generateEngineCommand() *cobra.Command {
	return &cobra.Command{Use: "engine NAME", Short: "Write an engine with one tool, its schema and a test into Savant's sources",
		Long: "Write an engine with one tool, its schema and a test into engines/NAME of a checkout of Savant, and print the two\n" +
			"lines that enter it in the program. No other file is changed.",
		Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnApp(func(_ context.Context, a *app.App, args []string) error {
			return p.generateEngine(args[0], a.Tools.Engines())
		})}
}

func (p *program) generateEngine(name string, taken []string) error {
	tree, err := sourceTree()
	if err != nil {
		return err
	}
	defer tree.Close()
	if err := checkEngineName(tree, name, taken); err != nil {
		return err
	}
	if err := writeEngine(tree, name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, `Written: engines/%[1]s/%[1]s.go with the tool %[1]s.hello, and its test. Add these two lines:

imports_test.go, in the table:
	"engines/%[1]s": {height: 3, imports: []string{"engines"}},

cmd/savant/app/engines.go, in AddEngines; it imports "savant/engines/%[1]s":
	a.Tools.AddEngine(%[1]s.Engine(), %[1]s.Tools()...),

Try it: go test . ./engines/%[1]s && go run ./cmd/savant call %[1]s.hello --args '{"name": "Ada"}'
`, name)
	return err
}

// sourceTree opens the checkout of Savant's sources that the working folder is in.
func sourceTree() (*os.Root, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, app.Misconfigured(fault.New(fault.InvalidParams, "the working folder: %w", err))
	}
	for !isSource(folder) {
		above := filepath.Dir(folder)
		if above == folder {
			return nil, app.Misconfigured(fault.New(fault.InvalidParams, "engines are generated inside a checkout of Savant's sources, and this folder is not in one"))
		}
		folder = above
	}
	root, err := regular.OpenFolder(folder)
	if err != nil {
		return nil, app.Misconfigured(fault.New(fault.InvalidParams, "the sources: %w", err))
	}
	return root, nil
}

// isSource reports whether a folder is the root of Savant's sources.
func isSource(folder string) bool {
	module, err := regular.ReadPath(filepath.Join(folder, "go.mod"), 1<<20)
	if err != nil || !bytes.HasPrefix(module, []byte("module savant\n")) {
		return false
	}
	_, err = os.Stat(filepath.Join(folder, "engines"))
	return err == nil
}

// packageName matches names that both an engine and its Go package can have.
var packageName = pattern.Lazy(`^[a-z][a-z0-9]{0,31}$`)

// notPackages are names that have a meaning in Go or in MCP_SERVICE.
var notPackages = []string{"internal", "vendor", "testdata", "main", "init", settings.All}

func checkEngineName(tree *os.Root, name string, taken []string) error {
	switch {
	case !packageName().MatchString(name) || token.IsKeyword(name) || slices.Contains(notPackages, name):
		return fault.New(fault.InvalidParams, "%q is not a name for an engine: expected up to 32 small letters and digits, and no keyword of Go", fault.Cut(name, 100))
	case slices.Contains(taken, name):
		return fault.New(fault.IDCollision, "engine %s already exists", name)
	}
	_, err := tree.Lstat(path.Join("engines", name))
	switch {
	case err == nil:
		return fault.New(fault.IDCollision, "engines/%s already exists", name)
	case !errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Internal, "engines/%s: %w", name, err)
	}
	return nil
}

// writeEngine writes the folder of a new engine. If it fails, it removes the folder.
func writeEngine(tree *os.Root, name string) error {
	folder := path.Join("engines", name)
	err := tree.Mkdir(folder, 0o755)
	for _, each := range []string{".go", "_test.go"} {
		if err == nil {
			err = writeTemplate(tree, "templates/engine"+each+".tmpl", path.Join(folder, name+each), name)
		}
	}
	if err != nil {
		return fault.New(fault.Internal, "nothing was generated: %w", errors.Join(err, tree.RemoveAll(folder)))
	}
	return nil
}

func writeTemplate(tree *os.Root, source, target, name string) error {
	parsed, err := template.ParseFS(templates, source)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, name); err != nil {
		return err
	}
	return atomicfile.Write(tree, target, text.Bytes(), 0o644)
}
