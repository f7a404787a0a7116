package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/pattern"
	"savant/packages"
)

// versionTag is a tag with a version behind the name of the package in its repository.
var versionTag = pattern.Lazy(`^((?:.*[/@])?(?:[A-Za-z_-]*[A-Za-z_]-)?)v?0*(\d+)((?:\.\d+){0,2})(-[^+]+)?(?:\+.*)?$`)

// versionOf returns what a tag has before its version, and that in the form of package semver.
func versionOf(tag string) (line, version string, is bool) {
	found := versionTag().FindStringSubmatch(tag)
	if found == nil {
		return "", "", false
	}
	version = "v" + found[2] + leadingZeros().ReplaceAllString(found[3], ".$1")
	version = semver.Canonical(version) + found[4]
	return found[1], version, semver.IsValid(version)
}

var leadingZeros = pattern.Lazy(`\.0+(\d)`)

// newest returns the newest release that some tags have of the package of a tag, and whether
// it is newer than that one.
func newest(tags []string, than string) (tag string, newer bool) {
	line, at, is := versionOf(than)
	best := ""
	for _, each := range tags {
		of, version, numbered := versionOf(each)
		if numbered && (of == line || !is) && semver.Prerelease(version) == "" && semver.Compare(version, best) > 0 {
			tag, best = each, version
		}
	}
	return tag, is && semver.Compare(best, at) > 0
}

func (p *program) updateCommand() *cobra.Command {
	var dry, yes bool
	command := &cobra.Command{Use: "update NAME[@TAG]", Short: "Take another version of a package: the newest, or that of a tag",
		Long: "Take another version of a package: the newest by number, or that of a tag. It shows what changes in steps, schemas,\n" +
			"tools, questions and rules, runs the package's cases, and replays this project's recorded runs under the new version,\n" +
			"with the first instruction that differs. --dry only shows; exit code 3 then says that something differs.",
		Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, args []string) error { return p.update(ctx, a, args[0], dry, yes) })}
	command.Flags().BoolVar(&dry, "dry", false, "show what would change, and change nothing")
	command.Flags().BoolVar(&yes, "yes", false, "take it without asking")
	return p.JSONFlag(command)
}

func (p *program) update(ctx context.Context, a *app.App, named string, dry, yes bool) error {
	lock, err := a.Packages().Lock()
	if err != nil {
		return err
	}
	name, tag, _ := strings.Cut(named, "@")
	pack, err := lock.Find(name)
	if err != nil {
		return err
	}
	source, err := p.sourceOf(ctx, a, pack, tag)
	if err != nil {
		return err
	}
	made, err := p.candidate(ctx, a, source, pack.Name)
	if err != nil {
		return err
	}
	shown, err := p.compared(ctx, a, pack, made)
	if err != nil {
		return errors.Join(err, made.stage.Discard())
	}
	same := len(shown.Changes) == 0 && pack.Commit == made.pack.Commit && pack.Source == made.pack.Source
	if !p.JSON {
		p.show(made)
		p.showChanges(shown)
	}
	if dry || same {
		if err := made.stage.Discard(); err != nil {
			return err
		}
		return p.compareOnly(shown)
	}
	return p.install(ctx, a, made, lock, yes, p.folderOf(a, pack))
}

// folderOf returns where the content of a package lies: a vendored one stays so.
func (p *program) folderOf(a *app.App, pack packages.Package) string {
	if info, err := a.Root.Stat(packages.Vendor + "/" + pack.Name); err == nil && info.IsDir() {
		return packages.Vendor
	}
	return packages.Folder
}

// compareOnly ends an update that changes nothing.
func (p *program) compareOnly(shown shownPackage) error {
	if p.JSON {
		if err := p.Print(shown); err != nil {
			return err
		}
	}
	if len(shown.Changes) > 0 {
		return cli.StatusError(cli.ExitInvalid)
	}
	return nil
}

// sourceOf returns the source of the version that is asked for.
func (p *program) sourceOf(ctx context.Context, a *app.App, pack packages.Package, tag string) (packages.Source, error) {
	source, err := packages.ParseSource(pack.Source)
	if err != nil || source.Tag == "" && tag == "" {
		return source, err
	}
	if tag == "" {
		fetcher, remove, err := p.fetcher(a)
		if err != nil {
			return source, err
		}
		defer remove()
		tags, err := fetcher.Tags(ctx, source)
		if err != nil {
			return source, err
		}
		if newer, is := newest(tags, source.Tag); is {
			tag = newer
		}
	}
	if tag != "" {
		source.Tag = tag
	}
	return packages.ParseSource(source.String())
}

// compared says what a candidate changes, and what recorded runs would have been.
func (p *program) compared(ctx context.Context, a *app.App, pack packages.Package, made *candidate) (shownPackage, error) {
	shown := made.shownPackage()
	before, err := a.Packages().Read(pack)
	if err == nil {
		shown.Changes = packages.Changes(before, made.fetched.Content, decoded)
	} else { // it may be moved or damaged, which this is to mend
		shown.Changes = []packages.Change{{File: pack.Name, Key: "content", From: fault.From(err).Message(), To: made.pack.Source}}
	}
	if pack.Commit != made.pack.Commit && pack.Source == made.pack.Source {
		shown.Changes = append(shown.Changes, packages.Change{File: pack.Name, Key: "the tag was moved, ask its owner why", From: pack.Commit, To: made.pack.Commit})
	}
	if pack.Commit != made.pack.Commit && pack.Signed != made.pack.Signed {
		shown.Changes = append(shown.Changes, packages.Change{File: pack.Name, Key: "signature", From: pack.Signed, To: made.pack.Signed})
	}
	for _, each := range made.shown {
		runs, err := a.ReplayUnder(ctx, made.stage.Folder, made.pack, each.Name, made.fetched.Content[each.File])
		if err != nil {
			return shown, err
		}
		shown.Runs = append(shown.Runs, runs...)
	}
	return shown, nil
}

func (p *program) showChanges(shown shownPackage) {
	if len(shown.Changes) == 0 {
		fmt.Fprintln(p.Stdout, "Nothing changes.")
	}
	for _, each := range shown.Changes {
		where := each.File
		if each.Step != "" {
			where += ": step " + each.Step
		}
		if each.Key != "" {
			where += ": " + each.Key
		}
		from, to := cmp.Or(each.From, "(none)"), cmp.Or(each.To, "(none)")
		fmt.Fprintf(p.Stdout, "%s: %s → %s\n", terminal.Visible(where), terminal.Visible(from), terminal.Visible(to))
	}
	for _, each := range shown.Runs {
		switch {
		case each.Error != "":
			fmt.Fprintf(p.Stdout, "run %s of %s: %s\n", each.RunID, each.Workflow, terminal.Visible(each.Error))
		case each.Difference != nil:
			where := strconv.Itoa(each.Difference.Version)
			if each.Difference.Step != "" {
				where += ", step " + each.Difference.Step
			}
			fmt.Fprintf(p.Stdout, "run %s of %s: differs at record %s: %s → %s\n", each.RunID, each.Workflow, where, terminal.Visible(each.Difference.Recorded), terminal.Visible(each.Difference.Replayed))
		default:
			fmt.Fprintf(p.Stdout, "run %s of %s: %s, identical\n", each.RunID, each.Workflow, terminal.Count(each.Answers, "answer"))
		}
	}
}

// aged is a package beside its newest tag.
type aged struct {
	Package string `json:"package"`
	Tag     string `json:"tag,omitempty"`
	Newest  string `json:"newest,omitempty"`
	Newer   bool   `json:"newer"`
}

func (p *program) outdatedCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "outdated", Short: "List the packages that have a newer tag", Args: cli.Positional(cobra.NoArgs),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, _ []string) error { return p.outdated(ctx, a) })})
}

func (p *program) outdated(ctx context.Context, a *app.App) error {
	lock, err := a.Packages().Lock()
	if err != nil {
		return err
	}
	fetcher, remove, err := p.fetcher(a)
	if err != nil {
		return err
	}
	defer remove()
	found := []aged{}
	for _, pack := range lock.Packages {
		source, err := packages.ParseSource(pack.Source)
		if err != nil {
			return err
		}
		one := aged{Package: pack.Name, Tag: source.Tag}
		if source.Tag != "" {
			tags, err := fetcher.Tags(ctx, source)
			if err != nil {
				return err
			}
			one.Newest, one.Newer = newest(tags, source.Tag)
		}
		found = append(found, one)
	}
	if p.JSON {
		return p.Print(map[string]any{"packages": found})
	}
	return terminal.Table(p.Stdout, []string{"PACKAGE", "TAG", "NEWEST"}, found, func(each aged) []string {
		newest := each.Newest
		if !each.Newer {
			newest = "-"
		}
		return []string{each.Package, each.Tag, newest}
	})
}
