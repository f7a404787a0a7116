package packages

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// Store writes the packages of a project. Files are whole or absent: a package is put in
// place by renaming its folder, and the lock is written last.
type Store struct {
	root *os.Root
}

// NewStore returns the store of a project.
func NewStore(root *os.Root) *Store { return &Store{root} }

// guardName is locked while the packages of a project are changed.
const guardName = Folder + "/.lock"

// Change lets one process at a time change the packages: work gets the lock as it is, and
// returns the one to write, or nil to leave it.
func (s *Store) Change(ctx context.Context, work func(Lock) (*Lock, error)) error {
	if err := ownfolder.MkdirAll(s.root, Folder); err != nil {
		return err
	}
	guard, err := regular.Open(s.root, guardName, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return ownfolder.NotSaved(guardName, err)
	}
	defer func() { _ = guard.Close() }() // it ends the lock
	if err := filelock.Acquire(ctx, LockName, func() (bool, error) { return filelock.TryLock(guard, true) }); err != nil {
		return err
	}
	lock, err := s.lock()
	if err != nil {
		return err
	}
	changed, err := work(lock)
	if err != nil || changed == nil {
		return err
	}
	if len(changed.Packages) == 0 {
		if err = s.root.Remove(LockName); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return notSaved(LockName, err)
	}
	data, err := changed.Encode()
	if err != nil {
		return err
	}
	return notSaved(LockName, atomicfile.Write(s.root, LockName, data, 0o644))
}

func notSaved(name string, err error) error {
	if err == nil {
		return nil
	}
	return ownfolder.NotSaved(name, err)
}

// lock reads the lock as it is; without a file it is empty.
func (s *Store) lock() (Lock, error) {
	data, err := regular.ReadFile(s.root, LockName, maxLock)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Lock{}, nil
	case errors.Is(err, regular.ErrTooLarge):
		data = make([]byte, maxLock+1)
	case err != nil:
		return Lock{}, ownfolder.NotRead(LockName, err)
	}
	return ReadLock(data)
}

// scratchName begins the names of folders in which repositories are fetched; of one that a
// process left behind, nothing is needed after a day.
const (
	scratchName = ".fetch-"
	scratchTime = 24 * time.Hour
)

// Scratch makes an empty folder in which repositories are fetched, and returns its path.
func (s *Store) Scratch() (folder string, remove func(), err error) {
	if err := ownfolder.MkdirAll(s.root, Folder); err != nil {
		return "", nil, err
	}
	entries, _ := regular.ReadDir(s.root, Folder)
	for _, each := range entries {
		if info, err := each.Info(); err == nil && strings.HasPrefix(each.Name(), scratchName) && time.Since(info.ModTime()) > scratchTime {
			_ = s.root.RemoveAll(path.Join(Folder, each.Name())) // the next time, then
		}
	}
	name := path.Join(Folder, scratchName+strings.ToLower(rand.Text()[:8]))
	if err := s.root.Mkdir(name, 0o700); err != nil {
		return "", nil, ownfolder.NotSaved(name, err)
	}
	return filepath.Join(s.root.Name(), filepath.FromSlash(name)), func() { _ = s.root.RemoveAll(name) }, nil
}

// Stage is a package that was written and is not in place yet.
type Stage struct {
	store *Store
	// Folder is a folder below SAVANT_PATH that has the package as a project of its own has
	// it: the lock, and the content below Folder.
	Folder string
	pack   Package
}

// Stage writes a package beside the others.
func (s *Store) Stage(pack Package, content Content) (*Stage, error) {
	stage := &Stage{store: s, pack: pack, Folder: Folder + "/.new-" + strings.ToLower(rand.Text()[:8])}
	lock, err := Lock{Packages: []Package{pack}}.Encode()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{LockName: lock}
	for name, data := range content {
		files[path.Join(Folder, pack.Name, name)] = data
	}
	for name, data := range files {
		name = path.Join(stage.Folder, name)
		if err = ownfolder.MkdirAll(s.root, path.Dir(name)); err == nil {
			err = notSaved(name, atomicfile.Write(s.root, name, data, 0o644))
		}
		if err != nil {
			return nil, errors.Join(err, stage.Discard())
		}
	}
	return stage, nil
}

// Discard removes the stage.
func (s *Stage) Discard() error { return notSaved(s.Folder, s.store.root.RemoveAll(s.Folder)) }

// Install puts the package in place of the one of its name, below a folder: Folder or Vendor.
func (s *Stage) Install(folder string) error {
	target := path.Join(folder, s.pack.Name)
	if err := s.store.unlinked(path.Dir(target)); err != nil {
		return err
	}
	if err := ownfolder.MkdirAll(s.store.root, path.Dir(target)); err != nil {
		return err
	}
	aside := path.Join(s.Folder, "old")
	if err := s.store.root.Rename(target, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return notSaved(target, err)
	}
	if err := s.store.root.Rename(path.Join(s.Folder, Folder, s.pack.Name), target); err != nil {
		return errors.Join(notSaved(target, err), s.store.root.Rename(aside, target))
	}
	return s.Discard()
}

// unlinked refuses a folder that a link of the project leads to another of its folders: what
// lies there is no package's, and would be replaced or removed.
func (s *Store) unlinked(folder string) error {
	for way := folder; strings.Contains(way, "/"); way = path.Dir(way) {
		if info, err := s.root.Lstat(way); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return notSaved(way, errors.New("it is a link"))
		}
	}
	return nil
}

// Remove removes the content of a package, wherever it lies.
func (s *Store) Remove(pack Package) error {
	var failed error
	for _, folder := range []string{Folder, Vendor} {
		target := path.Join(folder, pack.Name)
		if err := s.unlinked(path.Dir(target)); err != nil {
			return err
		}
		failed = errors.Join(failed, notSaved(target, s.root.RemoveAll(target)))
		for parent := path.Dir(target); parent != folder; parent = path.Dir(parent) {
			if s.root.Remove(parent) != nil {
				break // others are in it
			}
		}
	}
	return failed
}

// Read returns the content of a package as it lies below SAVANT_PATH: STATE_CORRUPT where a
// file is not what the lock names.
func (f *Files) Read(pack Package) (Content, error) {
	content := Content{}
	for name, digest := range pack.Files {
		data, _, err := f.read(packagedFile{pack.Name, name, digest})
		if err != nil {
			return nil, err
		}
		content[name] = data
	}
	return content, nil
}

// Differs returns why fetched content is not what the lock names, or nil: STATE_CONFLICT.
func (p Package) Differs(fetched Fetched) error {
	if p.Commit != fetched.Commit {
		return fault.New(fault.StateConflict, "%s: the tag of %s was moved: %s names the commit %s, and the tag is now %s. Ask its owner why; savant workflows update %s takes the new one",
			p.Name, p.Source, LockName, p.Commit, fetched.Commit, p.Name)
	}
	now := fetched.Content.Digests()
	for name, digest := range p.Files {
		if now[name] != digest {
			return fault.New(fault.StateConflict, "%s: %s of %s differs from what %s names; savant workflows update %s takes it as it is now", p.Name, name, p.Source, LockName, p.Name)
		}
	}
	for name := range now {
		if p.Files[name] == "" {
			return fault.New(fault.StateConflict, "%s: %s of %s is new, and %s does not name it; savant workflows update %s takes it", p.Name, name, p.Source, LockName, p.Name)
		}
	}
	return nil
}
