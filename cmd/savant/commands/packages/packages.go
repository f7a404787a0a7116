// Package packages holds the commands that share workflows between projects.
package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/visible"
	"savant/packages"
	"savant/think/flow"
)

// program is the command line in this package.
type program struct{ *cli.Program }

// Commands are the commands of `savant workflows` for packages.
func Commands(shared *cli.Program) []*cobra.Command {
	p := &program{shared}
	return []*cobra.Command{p.addCommand(), p.fetchCommand(), p.updateCommand(), p.outdatedCommand(), p.removeCommand(), p.vendorCommand(), p.packCommand()}
}

func (p *program) addCommand() *cobra.Command {
	var yes bool
	command := &cobra.Command{Use: "add SOURCE[@TAG]", Short: "Add the workflows of a repository, a folder or an archive",
		Long: "Add the workflows, schemas, prompts, rules and cases of a git repository at a tag, of a folder, or of an archive.\n" +
			"Nothing else is taken: no ci.yaml, servers, settings, links or submodules. It shows what comes and asks;\n" +
			packages.LockName + " then names the source, the commit and the digest of each file, and only such content is used.",
		Example: "  savant workflows add https://example.com/acme/procedures@v1.2.0\n" +
			"  savant workflows add git@example.com:acme/mono.git//ops@v3\n  savant workflows add ../procedures\n  savant workflows add release.tar.gz",
		Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, args []string) error { return p.add(ctx, a, args[0], yes) })}
	command.Flags().BoolVar(&yes, "yes", false, "add it without asking")
	return p.JSONFlag(command)
}

// fetcher reads sources for a project.
func (p *program) fetcher(a *app.App) (fetcher packages.Fetcher, remove func(), err error) {
	scratch, remove, err := a.PackageStore().Scratch()
	return packages.Fetcher{Base: a.Path, Scratch: scratch, Environment: p.World.Environment}, remove, err
}

// sourceOf reads a source as a person types it: a local one is relative to the working
// folder there, and to SAVANT_PATH in the lock.
func sourceOf(a *app.App, text string) (packages.Source, error) {
	source, err := packages.ParseSource(packages.Located(text))
	if err != nil || source.Remote() || filepath.IsAbs(source.Address) {
		return source, err
	}
	absolute, err := filepath.Abs(source.Address)
	if err != nil {
		return source, err
	}
	below, err := filepath.Rel(a.Path, absolute)
	if err != nil {
		return source, err
	}
	source.Address = filepath.ToSlash(below)
	return source, nil
}

// candidate is a version of a package that may come.
type candidate struct {
	pack    packages.Package
	fetched packages.Fetched
	stage   *packages.Stage
	shown   []app.PreviewedWorkflow
	prompts []string // what they set, as a person calls it
}

// shownPackage is the output of add and update --dry with --json.
type shownPackage struct {
	Package   string                  `json:"package"`
	Source    string                  `json:"source"`
	Commit    string                  `json:"commit,omitempty"`
	Signed    string                  `json:"signed,omitempty"`
	Workflows []app.PreviewedWorkflow `json:"workflows"`
	Rules     []string                `json:"rules"`
	Prompts   []string                `json:"prompts"`
	LeftOut   []string                `json:"left_out"`
	Changes   []packages.Change       `json:"changes,omitempty"`
	Runs      []app.ReplayedRun       `json:"runs,omitempty"`
	Added     bool                    `json:"added"`
}

func (c candidate) shownPackage() shownPackage {
	return shownPackage{Package: c.pack.Name, Source: c.pack.Source, Commit: c.pack.Commit, Signed: c.pack.Signed, Workflows: c.shown,
		Rules: append([]string{}, c.fetched.Content.Rules()...), Prompts: c.prompts, LeftOut: append([]string{}, c.fetched.LeftOut...)}
}

// candidate fetches a source, stages it and reads its workflows. The stage is the caller's
// to install or to discard.
func (p *program) candidate(ctx context.Context, a *app.App, source packages.Source, name string) (*candidate, error) {
	fetcher, remove, err := p.fetcher(a)
	if err != nil {
		return nil, err
	}
	defer remove()
	fetched, err := fetcher.Fetch(ctx, source)
	if err != nil {
		return nil, err
	}
	made := &candidate{fetched: fetched, pack: packages.Package{Name: name, Source: source.String(), Commit: fetched.Commit, Signed: fetched.Signed, Files: fetched.Content.Digests()}}
	if made.stage, err = a.PackageStore().Stage(made.pack, fetched.Content); err != nil {
		return nil, err
	}
	if made.shown, made.prompts, err = a.Preview(ctx, made.stage.Folder, made.pack); err != nil {
		return nil, errors.Join(err, made.stage.Discard())
	}
	return made, nil
}

func (p *program) add(ctx context.Context, a *app.App, text string, yes bool) error {
	source, err := sourceOf(a, text)
	if err != nil {
		return err
	}
	lock, err := a.Packages().Lock()
	if err != nil {
		return err
	}
	name := source.Name()
	if found, err := lock.Find(name); err == nil && found.Name == name {
		return fault.New(fault.IDCollision, "the package %s is there already, from %s: savant workflows update %s takes another version", name, found.Source, name)
	}
	made, err := p.candidate(ctx, a, source, name)
	if err != nil {
		return err
	}
	if !p.JSON {
		p.show(made)
	}
	return p.install(ctx, a, made, lock, yes, packages.Folder)
}

// install puts a candidate in place after a person agreed.
func (p *program) install(ctx context.Context, a *app.App, made *candidate, lock packages.Lock, yes bool, folder string) error {
	err := usable(made, lock)
	if err == nil {
		err = p.Agree(ctx, yes, "Add "+made.pack.Name+"?", "")
	}
	if err != nil {
		return errors.Join(err, made.stage.Discard())
	}
	err = a.PackageStore().Change(ctx, func(now packages.Lock) (*packages.Lock, error) {
		if err := usable(made, now); err != nil {
			return nil, errors.Join(err, made.stage.Discard())
		}
		if err := made.stage.Install(folder); err != nil {
			return nil, err
		}
		next := now.With(made.pack)
		return &next, nil
	})
	if err != nil {
		return err
	}
	if p.JSON {
		shown := made.shownPackage()
		shown.Added = true
		return p.Print(shown)
	}
	fmt.Fprintf(p.Stdout, "Added. Commit %s; in a clone, savant workflows fetch brings the content again.\n", packages.LockName)
	if len(made.shown) > 0 {
		name := made.shown[0].Name
		if made.shown[0].Replaces != "" {
			name = made.pack.Name + "/" + name
		}
		fmt.Fprintf(p.Stdout, "Run one: savant workflows run %s\n", name)
	}
	return nil
}

// usable refuses a candidate with errors, and one with a file in the place of another package's.
func usable(made *candidate, lock packages.Lock) error {
	for _, each := range made.shown {
		if len(each.Errors) > 0 {
			return fault.New(fault.ValidationFailed, "%s: the workflow %s is not valid: %s", made.pack.Source, each.Name, each.Errors[0].Message).With(each.Errors...)
		}
	}
	return lock.With(made.pack).Clash()
}

// show prints what a candidate brings.
func (p *program) show(made *candidate) {
	pack := made.pack
	fmt.Fprintf(p.Stdout, "%s from %s\n", pack.Name, terminal.Visible(pack.Source))
	if pack.Commit != "" {
		fmt.Fprintf(p.Stdout, "  commit %s%s\n", pack.Commit, signed(pack.Signed))
	}
	for _, each := range made.shown {
		fmt.Fprintf(p.Stdout, "\n  %s %s, %s%s\n", visible.Line(each.Name), visible.Line(each.Version), terminal.Count(each.Steps, "step"), casesOf(each))
		p.showList("calls", each.Tools)
		p.showList("writes", each.Writes)
		p.showList("asks a person", each.Asks)
		if each.Replaces != "" {
			fmt.Fprintf(p.Stdout, "    name          also %s: the project's own comes first, a bundled one is replaced once savant trust accepts it, and of two packages %s/%s names this one\n", terminal.Visible(each.Replaces), pack.Name, visible.Line(each.Name))
		}
		for _, problem := range each.Errors {
			fmt.Fprintf(p.Stdout, "    not valid     %s\n", terminal.Visible(problem.Message))
		}
	}
	if rules := made.fetched.Content.Rules(); len(rules) > 0 {
		fmt.Fprintf(p.Stdout, "\n  rules           %s\n", visible.Line(strings.Join(rules, ", ")))
	}
	if prompts := made.fetched.Content.Prompts(); len(prompts) > 0 {
		fmt.Fprintf(p.Stdout, "\n  prompts         %s\n                  models see them once savant trust accepts them; the project's own come first\n", visible.Line(strings.Join(prompts, ", ")))
		p.showList("they set", made.prompts)
	}
	if len(made.fetched.LeftOut) > 0 {
		fmt.Fprintf(p.Stdout, "\n  left out        %s\n", visible.Line(fault.Cut(strings.Join(made.fetched.LeftOut, ", "), 400)))
	}
	fmt.Fprintln(p.Stdout)
}

func (p *program) showList(what string, values []string) {
	if len(values) > 0 {
		fmt.Fprintf(p.Stdout, "    %-13s %s\n", what, visible.Line(fault.Cut(strings.Join(values, ", "), 400)))
	}
}

func signed(text string) string {
	if text == "" {
		return ""
	}
	return ", tag " + text
}

func casesOf(each app.PreviewedWorkflow) string {
	switch total := each.Passed + each.Failed; {
	case total == 0:
		return ", no cases"
	case each.Failed > 0:
		return fmt.Sprintf(", %d of %s FAIL", each.Failed, terminal.Count(total, "case"))
	default:
		return ", " + terminal.Count(total, "case") + " pass"
	}
}

func (p *program) fetchCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "fetch", Short: "Fetch the missing content of packages in " + packages.LockName,
		Args: cli.Positional(cobra.NoArgs),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, _ []string) error { return p.fetch(ctx, a) })})
}

func (p *program) fetch(ctx context.Context, a *app.App) error {
	missing, err := a.Packages().Missing()
	if err != nil {
		return err
	}
	fetcher, remove, err := p.fetcher(a)
	if err != nil {
		return err
	}
	defer remove()
	names := []string{}
	var failed error // the first one: the others are fetched all the same
	for _, pack := range missing {
		switch err := p.fetchOne(ctx, a, fetcher, pack); {
		case err == nil:
			names = append(names, pack.Name)
		case failed == nil:
			failed = err
		default:
			fmt.Fprintf(p.Stderr, "savant: %s\n", terminal.Visible(err.Error()))
		}
	}
	if p.JSON && failed == nil {
		return p.Print(map[string]any{"fetched": names})
	}
	if len(missing) == 0 {
		fmt.Fprintln(p.Stdout, "Nothing is missing.")
	}
	for _, name := range names {
		fmt.Fprintf(p.Stdout, "%s: fetched\n", name)
	}
	return failed
}

// fetchOne fetches a package, and puts it in place if it is what the lock names.
func (p *program) fetchOne(ctx context.Context, a *app.App, fetcher packages.Fetcher, pack packages.Package) error {
	source, err := packages.ParseSource(pack.Source)
	if err != nil {
		return err
	}
	fetched, err := fetcher.Fetch(ctx, source)
	if err == nil {
		err = pack.Differs(fetched)
	}
	if err == nil {
		err = p.place(ctx, a, pack, fetched.Content, p.folderOf(a, pack))
	}
	return err
}

// place writes the content of a package that the lock has already.
func (p *program) place(ctx context.Context, a *app.App, pack packages.Package, content packages.Content, folder string) error {
	stage, err := a.PackageStore().Stage(pack, content)
	if err != nil {
		return err
	}
	return a.PackageStore().Change(ctx, func(packages.Lock) (*packages.Lock, error) { return nil, stage.Install(folder) })
}

func (p *program) removeCommand() *cobra.Command {
	return &cobra.Command{Use: "remove NAME", Short: "Remove a package", Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, args []string) error {
			var removed packages.Package
			err := a.PackageStore().Change(ctx, func(lock packages.Lock) (*packages.Lock, error) {
				found, err := lock.Find(args[0])
				if err != nil {
					return nil, err
				}
				removed = found
				next := lock.Without(found.Name)
				return &next, nil
			})
			if err == nil {
				err = a.PackageStore().Remove(removed)
			}
			if err == nil {
				fmt.Fprintf(p.Stdout, "%s: removed\n", removed.Name)
			}
			return err
		})}
}

func (p *program) vendorCommand() *cobra.Command {
	return &cobra.Command{Use: "vendor [NAME…]", Short: "Copy packages into " + packages.Vendor + ", for version control",
		RunE: p.OnApp(func(ctx context.Context, a *app.App, names []string) error {
			lock, err := a.Packages().Lock()
			if err != nil {
				return err
			}
			if len(names) == 0 {
				for _, each := range lock.Packages {
					names = append(names, each.Name)
				}
			}
			for _, name := range names {
				pack, err := lock.Find(name)
				if err != nil {
					return err
				}
				content, err := a.Packages().Read(pack)
				if err == nil {
					err = p.place(ctx, a, pack, content, packages.Vendor)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(p.Stdout, "%s: copied to %s/%s\n", pack.Name, packages.Vendor, pack.Name)
			}
			attributes := packages.Vendor + "/.gitattributes"
			if _, err := a.Root.Lstat(attributes); err == nil || len(names) == 0 {
				return nil
			}
			return place(a, attributes, []byte("# The digests of packages are those of the bytes, on every system.\n* -text\n"))
		})}
}

func (p *program) packCommand() *cobra.Command {
	var file string
	command := &cobra.Command{Use: "pack", Short: "Write this project's workflows, schemas, prompts, rules and cases as one archive",
		Long: "Write this project's workflows, schemas, prompts, rules and cases as one archive, which savant workflows add takes.\n" +
			"The same files give the same bytes.",
		Args: cli.Positional(cobra.NoArgs),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, _ []string) error { return p.pack(ctx, a, file) })}
	command.Flags().StringVarP(&file, "output", "o", "", "the archive to write; without it NAME.tar.gz by the folder's name; - for stdout")
	return command
}

func (p *program) pack(ctx context.Context, a *app.App, file string) error {
	project, err := a.ProjectContent(ctx)
	if err != nil {
		return err
	}
	data, err := project.Content.Archive()
	if err != nil {
		return err
	}
	if file == "-" {
		_, err = p.Stdout.Write(data)
		return err
	}
	file = cmp.Or(file, filepath.Base(a.Path)+".tar.gz")
	if _, err := os.Lstat(file); err == nil {
		return fault.New(fault.IDCollision, "%s exists: remove it, or name another file with -o", file)
	}
	if err := cli.WriteFile(file, data, 0o644); err != nil {
		return fault.New(fault.StateNotSaved, "%s was not written: %w", file, err)
	}
	fmt.Fprintf(p.Stdout, "%s: %s, %d bytes\n", file, terminal.Count(len(project.Content), "file"), len(data))
	return nil
}

// decoded reads a file of a package as JSON values, to compare it.
func decoded(name string, data []byte) (any, error) { return flow.ReadYAML(name, data) }
