package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// release is one version of Savant for several targets.
type release struct {
	Source, Out    string
	Version, Owner string
	Time           time.Time // of every file in every package
	Targets        []target
	Manual         []file // below share/; made with the release
}

// target is an operating system and an architecture, in Go's names.
type target struct{ OS, Arch string }

// targets are all that Savant is built for.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func targetsOf(list string) ([]target, error) {
	if list == "" {
		return targets, nil
	}
	var chosen []target
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.OS+"/"+t.Arch == name })
		if i < 0 {
			return nil, fmt.Errorf("target %q is unknown; the targets are %v", name, targets)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}

func (t target) String() string { return t.OS + "/" + t.Arch }

// program is the name of the program's file.
func (t target) program() string {
	if t.OS == "windows" {
		return "savant.exe"
	}
	return "savant"
}

// semantic says whether it is a version of Semantic Versioning 2.0.0 without build
// metadata, which npm drops.
func semantic(version string) bool {
	pattern := regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	return pattern.MatchString(version)
}

// name is the name of a file of the release: savant_1.2.3_linux_amd64.deb.
func (r release) name(prefix string, t target, suffix string) string {
	return filepath.Join(r.Out, fmt.Sprintf("%s_%s_%s_%s%s", prefix, r.Version, t.OS, t.Arch, suffix))
}

// address is where a file of the release can be downloaded once it is published.
func (r release) address(file string) string {
	return fmt.Sprintf("https://github.com/%s/savant/releases/download/v%s/%s", r.Owner, r.Version, filepath.Base(file))
}

// make builds everything into an empty folder. The checksums come last, so a
// folder with checksums.txt is whole.
func (r release) make(ctx context.Context) error {
	if err := os.RemoveAll(r.Out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	if r.Manual, err = r.manual(ctx); err != nil {
		return err
	}
	for _, t := range r.Targets {
		program, err := r.build(ctx, t)
		if err != nil {
			return err
		}
		for _, pack := range []func(target, file, []file) error{r.archive, r.sbom, r.linuxPackages, r.mcpBundle, r.geminiExtension, r.npmPlatform} {
			if err := pack(t, program, documents); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
		}
	}
	for _, write := range []func() error{r.npmLauncher, r.plugin, r.registryEntry, r.cask, r.editor, r.checksums} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// documents are the files that go with the program everywhere.
func (r release) documents() ([]file, error) {
	var list []file
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(r.Source, name))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: name, data: data})
	}
	return list, nil
}
