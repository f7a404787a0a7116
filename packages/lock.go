package packages

import (
	"bytes"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// LockName is the file of a project's packages, below SAVANT_PATH.
const LockName = "workflows.lock"

// maxLock bounds the file, in bytes.
const maxLock = 1 << 20

// lockFormat is the version of the file's format.
const lockFormat = 1

// Lock is a project's packages, by name.
type Lock struct {
	Format   int       `json:"format"`
	Packages []Package `json:"packages"`
}

// Package is one package of a project.
type Package struct {
	Name string `json:"name"`
	// Source is as ParseSource reads it; Commit is the commit of its tag, empty for a folder
	// or an archive.
	Source string `json:"source"`
	Commit string `json:"commit,omitempty"`
	// Signed says whose signature of the tag git verified when the package was added.
	Signed string `json:"signed,omitempty"`
	// Files are the digests of the files, by their names in the package.
	Files map[string]string `json:"files"`
}

var (
	packageName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$`)
	fileDigest  = pattern.Lazy(`^sha256:[0-9a-f]{64}$`)
	commitID    = pattern.Lazy(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
)

// ReadLock reads the bytes of a lock file. Whoever writes the project writes it, so nothing
// in it is believed: YAML_SCHEMA_VIOLATION names the first thing that is wrong.
func ReadLock(data []byte) (Lock, error) {
	var lock Lock
	refused := func(format string, args ...any) (Lock, error) {
		return Lock{}, fault.New(fault.YAMLSchemaViolation, LockName+": "+format+"; take it from version control again, or remove it and add the packages anew", args...)
	}
	if len(data) > maxLock {
		return refused("it has more than %d bytes", maxLock)
	}
	if before, _, conflict := bytes.Cut(data, []byte("<<<<<<< ")); conflict {
		return refused("line %d begins what git could not merge: keep the packages of both sides, and no marks", 1+bytes.Count(before, []byte("\n")))
	}
	if err := jsonvalue.UnmarshalWhole(data, &lock); err != nil {
		return refused("%v", err)
	}
	if lock.Format != lockFormat {
		return refused("its format is %d, and this Savant reads %d", lock.Format, lockFormat)
	}
	seen := map[string]bool{}
	for _, each := range lock.Packages {
		source, err := ParseSource(each.Source)
		switch {
		case !packageName().MatchString(each.Name) || len(each.Name) > maxPath:
			return refused("%q is no name of a package", fault.Cut(each.Name, 80))
		case seen[strings.ToLower(each.Name)]:
			return refused("%s stands there twice", each.Name)
		case err != nil:
			return refused("%s: %v", each.Name, fault.From(err).Details)
		case source.Remote() && each.Name != source.Name(): // lists show the name alone
			return refused("%s comes from %s, whose package is called %s", each.Name, each.Source, source.Name())
		case (source.Tag != "") != (each.Commit != ""), each.Commit != "" && !commitID().MatchString(each.Commit):
			return refused("%s: %q is no commit", each.Name, fault.Cut(each.Commit, 80))
		case len(each.Files) == 0 || len(each.Files) > maxFiles:
			return refused("%s has %d files, and a package has 1 to %d", each.Name, len(each.Files), maxFiles)
		}
		for name, digest := range each.Files {
			if !IsPackageFile(name) || !fileDigest().MatchString(digest) {
				return refused("%s: %q with the digest %q is no file of a package", each.Name, fault.Cut(name, 80), fault.Cut(digest, 80))
			}
		}
		seen[strings.ToLower(each.Name)] = true
	}
	return lock, nil
}

// Clash refuses packages of which one lies in the folder of the other, also where the case of
// letters does not matter, and those with different files in one place: ID_COLLISION.
func (l Lock) Clash() error {
	for i, each := range l.Packages {
		for _, other := range l.Packages[i+1:] {
			one, two := strings.ToLower(each.Name)+"/", strings.ToLower(other.Name)+"/"
			if strings.HasPrefix(one, two) || strings.HasPrefix(two, one) {
				return fault.New(fault.IDCollision, "the packages %s and %s lie in one folder: remove one of the two packages", each.Name, other.Name)
			}
		}
	}
	_, err := treeOf(l)
	return err
}

// Encode returns the bytes of the file, the same for the same packages.
func (l Lock) Encode() ([]byte, error) {
	l.Format = lockFormat
	l.Packages = slices.Clone(l.Packages)
	slices.SortFunc(l.Packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	encoded, err := jsonvalue.EncodeIndented(l, 1<<10)
	if err != nil {
		return nil, err
	}
	return append(bytes.TrimRight(encoded, "\n"), '\n'), nil
}

// Find returns the package of a name, or of its last part where that is one's alone:
// INVALID_PARAMS.
func (l Lock) Find(name string) (Package, error) {
	var fitting []Package
	names := []string{}
	for _, each := range l.Packages {
		if each.Name == name {
			return each, nil
		}
		names = append(names, each.Name)
		if strings.HasSuffix(each.Name, "/"+name) {
			fitting = append(fitting, each)
		}
	}
	if len(fitting) == 1 {
		return fitting[0], nil
	}
	known := "none was added"
	if len(names) > 0 {
		known = "there are " + strings.Join(names, ", ")
	}
	return Package{}, fault.New(fault.InvalidParams, "%s has no package %q: %s", LockName, fault.Cut(name, 80), known)
}

// With returns the lock with a package in place of the one of its name.
func (l Lock) With(added Package) Lock {
	return Lock{Packages: append(l.Without(added.Name).Packages, added)}
}

// Without returns the lock without the package of a name.
func (l Lock) Without(name string) Lock {
	return Lock{Packages: slices.DeleteFunc(slices.Clone(l.Packages), func(each Package) bool { return each.Name == name })}
}
