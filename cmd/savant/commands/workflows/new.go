package workflows

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/ownfolder"
	"savant/internal/pattern"
	"savant/internal/regular"
)

// templates are the workflows that new begins with: KIND.yaml, its cases, and the children
// KIND_CHILD.yaml. NAME stands for the name of the new workflow.
//
//go:embed templates/*.yaml
var templates embed.FS

// kinds are the templates, the simplest first.
func kinds() []string {
	return []string{"hello", "check", "review", "release", "runbook", "migration", "until-green", "onboarding"}
}

// schemaFolder is where editors find the schemas of a project's files.
const schemaFolder = ownfolder.State + "/schemas"

// newName leaves room for the name of a child.
var newName = pattern.Lazy(`^[a-z][a-z0-9_-]{0,54}$`)

func (p *program) newCommand() *cobra.Command {
	var from string
	command := &cobra.Command{Use: "new NAME", Short: "Begin a workflow with its cases",
		Long: "Write workflows/NAME.yaml with comments, the workflows that it runs, and cases that pass. Editors complete and\n" +
			"check these files by " + schemaFolder + ", which is written too. A file that exists is never changed.\n\n" +
			"Kinds: " + strings.Join(kinds(), ", ") + ".",
		Example: "  savant workflows new publish --from release",
		Args:    cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnLook(func(_ context.Context, a *app.App, args []string) error {
			return p.begin(a, args[0], from)
		})}
	command.Flags().StringVar(&from, "from", "hello", "the kind to begin with")
	return command
}

// begin writes a new workflow of a kind.
func (p *program) begin(a *app.App, name, from string) error {
	if err := cli.Choice("--from", from, kinds()...); err != nil {
		return err
	}
	if !newName().MatchString(name) || slices.Contains([]string{"true", "false", "null"}, name) {
		return cli.UsageError("NAME " + terminal.Visible(name) + ": use lower-case letters, digits, _ and -, starting with a letter, at most 55, and not true, false or null, which YAML reads as values")
	}
	files, err := newFiles(name, from)
	if err != nil {
		return err
	}
	for _, each := range files { // its children, too
		made := strings.TrimSuffix(path.Base(each.name), ".yaml")
		if _, err := a.Think.Library.Find(made, ""); !errors.Is(err, fault.UnknownWorkflow) && !strings.Contains(made, ".") {
			return fault.New(fault.IDCollision, "there is a workflow named %s: choose another name than %s; savant workflows list shows all", made, name)
		}
	}
	root, err := regular.OpenFolder(p.Settings.Path)
	if err != nil {
		return fault.New(fault.InvalidParams, "%s: %w", p.Settings.Path, errors.Unwrap(err))
	}
	defer root.Close()
	for _, each := range files {
		if _, err := root.Lstat(each.name); !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.IDCollision, "%s exists, or cannot be looked at: nothing was written; choose another name", each.name)
		}
	}
	schemas, err := schemaFiles(root)
	if err != nil {
		return err
	}
	for _, each := range slices.Concat(files, schemas) {
		if err := each.Write(root); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout, "wrote", terminal.Visible(filepath.Join(p.Settings.Path, filepath.FromSlash(each.name))))
	}
	_, err = fmt.Fprintf(p.Stdout, "Run its cases: savant workflows test %s\n", name)
	return err
}

// File is a file to write; its name is below SAVANT_PATH.
type File struct {
	name string
	text []byte
}

// Name is the name of the file, below SAVANT_PATH.
func (f File) Name() string { return f.name }

// First returns the files of the first workflow of a project: itself, its cases, and the
// schemas for editors. It returns no files if the project has workflows already.
func First(root *os.Root) ([]File, error) {
	if found, err := regular.Glob(root.FS(), "workflows/*.y*ml"); err != nil || len(found) > 0 {
		return nil, err
	}
	files, err := newFiles(FirstName, FirstName)
	if err != nil {
		return nil, err
	}
	schemas, err := schemaFiles(root)
	return append(files, schemas...), err
}

// FirstName is the name of the first workflow, and of its kind.
const FirstName = "check"

// newFiles returns the workflows and cases of a kind under a new name.
func newFiles(name, from string) ([]File, error) {
	entries, err := templates.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	var files []File
	for _, entry := range entries {
		rest, own := strings.CutPrefix(entry.Name(), from)
		if !own || rest[0] != '.' && rest[0] != '_' {
			continue
		}
		text, err := templates.ReadFile("templates/" + entry.Name())
		if err != nil {
			return nil, err
		}
		schema := "workflow"
		if strings.HasSuffix(rest, ".cases.yaml") {
			schema = "cases"
		}
		whole := "# yaml-language-server: $schema=../" + schemaFolder + "/" + schema + ".json\n" + strings.ReplaceAll(string(text), "NAME", name)
		files = append(files, File{"workflows/" + name + rest, []byte(whole)})
	}
	slices.SortFunc(files, func(a, b File) int { // the workflow, its cases, its children
		return cmp.Or(cmp.Compare(strings.Count(a.name, "_"), strings.Count(b.name, "_")), cmp.Compare(len(a.name), len(b.name)))
	})
	return files, nil
}

// schemaFiles returns the schemas for editors that the project does not have.
func schemaFiles(root *os.Root) (missing []File, err error) {
	for _, each := range []string{"workflow", "cases"} {
		file := File{name: schemaFolder + "/" + each + ".json"}
		if _, err := root.Lstat(file.name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if file.text, err = savant.Files.ReadFile("schemas/" + each + ".json"); err != nil {
			return nil, err
		}
		missing = append(missing, file)
	}
	return missing, nil
}

// Write writes the file, and the folders that it is in.
func (f File) Write(root *os.Root) error {
	if err := ownfolder.MkdirAll(root, path.Dir(f.name)); err != nil {
		return app.Misconfigured(err)
	}
	if err := atomicfile.Write(root, f.name, f.text, 0o644); err != nil {
		return app.Misconfigured(ownfolder.NotSaved(f.name, err))
	}
	return nil
}
