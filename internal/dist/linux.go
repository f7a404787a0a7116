package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// linuxPackages writes a .deb and an .rpm. git is recommended, not required:
// only the git and context tools need it.
func (r release) linuxPackages(t target, program file, documents []file) error {
	if t.OS != "linux" {
		return nil
	}
	folder, err := os.MkdirTemp("", "savant-package")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	places := map[string]string{"savant": "/usr/bin/savant", "LICENSE": "/usr/share/doc/savant/copyright", "README.md": "/usr/share/doc/savant/README.md"}
	var contents files.Contents
	for i, f := range slices.Concat([]file{program}, documents, r.Manual) {
		source := filepath.Join(folder, strconv.Itoa(i))
		if err := os.WriteFile(source, f.data, f.mode()); err != nil {
			return err
		}
		for _, packager := range []string{"deb", "rpm"} {
			place := cmp.Or(places[f.name], "/usr/"+f.name)
			if packager == "deb" { // Debian's zsh does not look into the folder of all others
				place = strings.Replace(place, "/zsh/site-functions/", "/zsh/vendor-completions/", 1)
			}
			contents = append(contents, &files.Content{Source: source, Destination: place, Packager: packager,
				FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode(), MTime: r.Time}})
		}
	}
	for _, packager := range []struct {
		name string
		nfpm.Packager
	}{{"deb", deb.Default}, {"rpm", rpm.DefaultRPM}} {
		info := nfpm.WithDefaults(&nfpm.Info{Name: "savant", Arch: t.Arch, Platform: t.OS, Version: r.Version, MTime: r.Time,
			Section: "devel", Maintainer: "Savant maintainers <" + r.Owner + "@users.noreply.github.com>", License: "MIT",
			Description: "Makes a language model follow a YAML workflow exactly, and proves it",
			Homepage:    "https://github.com/" + r.Owner + "/savant", DisableGlobbing: true,
			Overridables: nfpm.Overridables{Recommends: []string{"git"}, Contents: contents,
				RPM: nfpm.RPM{BuildHost: "localhost", Group: "Development/Tools"}}})
		if err := nfpm.PrepareForPackager(info, packager.name); err != nil {
			return err
		}
		var packed bytes.Buffer
		if err := packager.Package(info, &packed); err != nil {
			return err
		}
		if err := os.WriteFile(r.name("savant", t, "."+packager.name), packed.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
