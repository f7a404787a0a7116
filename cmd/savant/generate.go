package main

import (
	"bytes"
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

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/pattern"
	"savant/internal/settings"
)

//go:embed templates/*.tmpl
var templates embed.FS

// The files that a new engine is entered in.
const (
	floorsFile = "imports_test.go"
	houseFile  = "cmd/savant/house.go"
)

func (p *program) generateCommand() *cobra.Command {
	return group("generate", "Write what new parts of Savant begin with", p.generateEngineCommand())
}

func (p *program) generateEngineCommand() *cobra.Command {
	return &cobra.Command{Use: "engine NAME", Short: "Write an engine with one tool, its schema and a test into Savant's sources",
		Long: "Write an engine with one tool, its schema and a test into Savant's sources, and enter it in " + floorsFile + "\n" +
			"and " + houseFile + ". It is run inside a checkout of Savant, and writes all of it or nothing.",
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			var taken []string
			if err := p.with(command.Context(), func(h *house) error { taken = h.tools.Engines(); return nil }); err != nil {
				return err
			}
			return p.generateEngine(args[0], taken)
		}}
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
	made, err := newEngineFiles(tree, name)
	if err != nil {
		return err
	}
	if err := made.write(tree); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "Written: %s/%s.go with the tool %s.hello, its test, and its row in %s.\n", made.folder, name, name, floorsFile)
	if made.edited[houseFile] == nil {
		fmt.Fprintf(p.stdout, "Add to %s, among the imports and the engines:\n\n\t%s\n\t%s,\n\n", houseFile, importLine(name, made.as), engineLine(made.as))
	} else {
		fmt.Fprintf(p.stdout, "It is one of the engines of %s.\n", houseFile)
	}
	fmt.Fprintf(p.stdout, "Try it: go test . ./%s && go run ./cmd/savant call %s.hello --args '{\"name\": \"Ada\"}'\n", made.folder, name)
	return nil
}

// sourceTree opens the checkout of Savant that the working folder is in.
func sourceTree() (*os.Root, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, misconfigured(fault.New(fault.InvalidParams, "the working folder: %w", err))
	}
	for {
		if isSource(folder) {
			root, err := os.OpenRoot(folder)
			if err != nil {
				return nil, misconfigured(fault.New(fault.InvalidParams, "the sources: %w", err))
			}
			return root, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return nil, misconfigured(fault.New(fault.InvalidParams, "engines are generated inside a checkout of Savant's sources, and this folder is in none"))
		}
		folder = above
	}
}

// isSource says whether a folder is the top of Savant's sources.
func isSource(folder string) bool {
	module, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil || !bytes.HasPrefix(module, []byte("module savant\n")) {
		return false
	}
	for _, name := range []string{floorsFile, houseFile, "engines/registry.go"} {
		if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(name))); err != nil {
			return false
		}
	}
	return true
}

// packageName is narrower than a name of an engine: it is a Go package too.
var packageName = pattern.Lazy(`^[a-z][a-z0-9]{0,31}$`)

// notPackages are folders that Go treats in their own way, and what MCP_SERVICE
// calls every engine.
var notPackages = []string{"internal", "vendor", "testdata", "main", settings.All}

func checkEngineName(tree *os.Root, name string, taken []string) error {
	switch {
	case !packageName().MatchString(name) || token.IsKeyword(name) || slices.Contains(notPackages, name):
		return fault.New(fault.InvalidParams, "%q is not a name for an engine: expected up to 32 small letters and digits, and no word of Go's own", fault.Cut(name, 100))
	case slices.Contains(taken, name):
		return fault.New(fault.IDCollision, "there is an engine %s already", name)
	}
	_, err := tree.Lstat(path.Join("engines", name))
	switch {
	case err == nil:
		return fault.New(fault.IDCollision, "engines/%s is there already", name)
	case !errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Internal, "engines/%s: %w", name, err)
	}
	return nil
}

// engineFiles is all that a new engine adds and changes.
type engineFiles struct {
	folder string            // relative to the tree
	as     string            // what house.go calls the package
	added  map[string][]byte // in the folder, by name
	edited map[string][]byte // in the tree, by path
}

func newEngineFiles(tree *os.Root, name string) (*engineFiles, error) {
	made := &engineFiles{folder: path.Join("engines", name), added: map[string][]byte{}, edited: map[string][]byte{}}
	for source, target := range map[string]string{"engine.go.tmpl": name + ".go", "engine_test.go.tmpl": name + "_test.go"} {
		parsed, err := template.ParseFS(templates, "templates/"+source)
		if err != nil {
			return nil, fault.New(fault.Internal, "%s: %w", source, err)
		}
		var text bytes.Buffer
		if err := parsed.Execute(&text, name); err != nil {
			return nil, fault.New(fault.Internal, "%s: %w", source, err)
		}
		made.added[target] = text.Bytes()
	}
	floors, err := edit(tree, floorsFile, func(source []byte) ([]byte, error) { return withFloor(source, name) })
	if err != nil {
		return nil, err
	}
	made.edited[floorsFile] = floors
	if made.as, err = importName(tree, name); err != nil {
		return nil, fault.New(fault.Internal, "%s: %w", path.Dir(houseFile), err)
	}
	// A house of another shape is left to whoever shaped it.
	if house, err := edit(tree, houseFile, func(source []byte) ([]byte, error) { return withEngine(source, name, made.as) }); err == nil {
		made.edited[houseFile] = house
	}
	return made, nil
}

// edit returns a file of the tree with a change made.
func edit(tree *os.Root, name string, change func([]byte) ([]byte, error)) ([]byte, error) {
	source, err := tree.ReadFile(name)
	if err == nil {
		source, err = change(source)
	}
	if err != nil {
		return nil, fault.New(fault.Internal, "%s: %w", name, err)
	}
	return source, nil
}

// write puts the files into the tree. When one cannot be written the tree is
// left as it was.
func (e *engineFiles) write(tree *os.Root) (err error) {
	var undo []func() error
	defer func() {
		if err != nil {
			slices.Reverse(undo)
			for _, back := range undo {
				err = errors.Join(err, back())
			}
			err = fault.New(fault.Internal, "nothing was generated: %w", err)
		}
	}()
	if err := tree.Mkdir(e.folder, 0o755); err != nil {
		return err
	}
	undo = append(undo, func() error { return tree.RemoveAll(e.folder) })
	for name, content := range e.added {
		if err := atomicfile.Write(tree, path.Join(e.folder, name), content, 0o644); err != nil {
			return err
		}
	}
	for name, content := range e.edited {
		before, err := tree.ReadFile(name)
		if err != nil {
			return err
		}
		undo = append(undo, func() error { return atomicfile.Write(tree, name, before, 0o644) })
		if err := atomicfile.Write(tree, name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
