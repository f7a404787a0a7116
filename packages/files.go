package packages

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
)

// The folders below SAVANT_PATH where the content of packages lies: the first is not in
// version control, the second is.
const (
	Folder     = ".savant/packages"
	vendorName = "vendor"
	Vendor     = workflowFolder + "/" + vendorName
)

// Files are the files of a project's packages as a layer of a library: workflows/PACKAGE/…,
// schemas/… and rules/PACKAGE.FILE with dots for the slashes of the package's name. A file
// is there if workflows.lock names it, and can be read if it fits its digest: STATE_CORRUPT.
// It is safe for concurrent use.
type Files struct {
	project fs.FS

	mu      sync.Mutex
	changed time.Time
	size    int64
	tree    tree
	err     error
}

// NewFiles returns the files of the packages of a project.
func NewFiles(project fs.FS) *Files { return &Files{project: project} }

// tree is what the lock names.
type tree struct {
	lock    Lock
	files   map[string]packagedFile
	folders map[string][]string
}

// packagedFile is a file of a package: where it lies, and its digest.
type packagedFile struct{ pack, name, digest string }

// Lock returns the project's packages: YAML_SCHEMA_VIOLATION.
func (f *Files) Lock() (Lock, error) {
	found, err := f.current()
	return found.lock, err
}

// current reads the lock again where it changed. A project without one has no packages.
func (f *Files) current() (tree, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := fs.Stat(f.project, LockName)
	if errors.Is(err, fs.ErrNotExist) {
		f.size, f.tree, f.err = 0, tree{}, nil
		return tree{}, nil
	}
	if err != nil {
		return tree{}, ownfolder.NotRead(LockName, err)
	}
	if f.size == info.Size() && f.changed.Equal(info.ModTime()) && f.size > 0 {
		return f.tree, f.err
	}
	f.tree, f.err = tree{}, nil
	if info.Size() > maxLock {
		_, f.err = ReadLock(make([]byte, maxLock+1))
	} else if data, err := fs.ReadFile(f.project, LockName); err != nil {
		return tree{}, ownfolder.NotRead(LockName, err)
	} else if lock, err := ReadLock(data); err != nil {
		f.err = err
	} else {
		f.tree, f.err = treeOf(lock)
	}
	f.size, f.changed = info.Size(), info.ModTime()
	return f.tree, f.err
}

func treeOf(lock Lock) (tree, error) {
	made := tree{lock: lock, files: map[string]packagedFile{}, folders: map[string][]string{}}
	for _, pack := range lock.Packages {
		for _, name := range slices.Sorted(maps.Keys(pack.Files)) {
			at := placeOf(pack.Name, name)
			if other, taken := made.files[at]; taken && other.digest != pack.Files[name] {
				return made, fault.New(fault.IDCollision, "the packages %s and %s have different files in one place, %s: remove one of the two packages", other.pack, pack.Name, at)
			}
			made.files[at] = packagedFile{pack.Name, name, pack.Files[name]}
			made.list(at)
		}
	}
	return made, nil
}

// placeOf returns where the layer has a file of a package.
func placeOf(pack, name string) string {
	folder, rest, _ := strings.Cut(name, "/")
	switch folder {
	case workflowFolder:
		return folder + "/" + pack + "/" + rest
	case ruleFolder:
		return folder + "/" + strings.ReplaceAll(pack, "/", ".") + "." + rest
	}
	return name
}

// list enters a file into the folders above it.
func (t tree) list(name string) {
	for name != "." {
		folder := path.Dir(name)
		if slices.Contains(t.folders[folder], path.Base(name)) {
			return
		}
		t.folders[folder] = append(t.folders[folder], path.Base(name))
		name = folder
	}
}

// Open implements fs.FS for files.
func (f *Files) Open(name string) (fs.File, error) {
	found, err := f.current()
	if err != nil {
		return nil, err
	}
	file, has := found.files[name]
	if !has {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	data, info, err := f.read(file)
	if err != nil {
		return nil, err
	}
	return &openFile{bytes.NewReader(data), info}, nil
}

// read reads a file of a package and holds it against its digest.
func (f *Files) read(file packagedFile) (data []byte, info fs.FileInfo, err error) {
	opened, info, err := f.find(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = fault.New(fault.StateCorrupt, "%s of the package %s is not here: savant workflows fetch brings it", file.name, file.pack)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = opened.Close() }() // only read
	data, err = io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err == nil && jsonvalue.SHA256(jsonvalue.HexSum(data)) != file.digest {
		err = fault.New(fault.StateCorrupt, "%s of the package %s is not what %s names: savant workflows fetch brings the right one", file.name, file.pack, LockName)
	}
	return data, info, err
}

// find opens the file where it lies.
func (f *Files) find(file packagedFile) (fs.File, fs.FileInfo, error) {
	var opened fs.File
	var err error
	for _, folder := range []string{Vendor, Folder} {
		if opened, err = f.project.Open(path.Join(folder, file.pack, file.name)); err == nil {
			info, failed := opened.Stat()
			if failed == nil && info.Mode().IsRegular() {
				return opened, info, nil
			}
			_ = opened.Close() // nothing was read
			return nil, nil, &fs.PathError{Op: "open", Path: file.name, Err: errors.Join(failed, fs.ErrInvalid)}
		}
	}
	return nil, nil, err
}

// Stat implements fs.StatFS.
func (f *Files) Stat(name string) (fs.FileInfo, error) {
	found, err := f.current()
	if err != nil {
		return nil, err
	}
	if file, has := found.files[name]; has {
		opened, info, err := f.find(file)
		if errors.Is(err, fs.ErrNotExist) {
			return virtualInfo{path.Base(name), 0o444}, nil // reading it says how it is fetched
		}
		if err == nil {
			_ = opened.Close() // nothing was read
		}
		return info, err
	}
	if _, has := found.folders[name]; has {
		return virtualInfo{path.Base(name), fs.ModeDir | 0o555}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements fs.ReadDirFS.
func (f *Files) ReadDir(name string) ([]fs.DirEntry, error) {
	found, err := f.current()
	if err != nil {
		return nil, err
	}
	inside, has := found.folders[name]
	if !has {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	var entries []fs.DirEntry
	for _, each := range slices.Sorted(slices.Values(inside)) {
		info, err := f.Stat(path.Join(name, each))
		if err == nil {
			entries = append(entries, entry{fs.FileInfoToDirEntry(info), each})
		}
	}
	return entries, nil
}

// Missing returns the packages of which some file is not there, or does not fit its digest.
func (f *Files) Missing() ([]Package, error) {
	found, err := f.current()
	if err != nil {
		return nil, err
	}
	var missing []Package
	for _, pack := range found.lock.Packages {
		for name, digest := range pack.Files {
			if _, _, err := f.read(packagedFile{pack.Name, name, digest}); err != nil {
				missing = append(missing, pack)
				break
			}
		}
	}
	return missing, nil
}

// Vendored reports whether a path below SAVANT_PATH is the vendored content of a package, or
// in it.
func (f *Files) Vendored(name string) bool {
	inside, below := strings.CutPrefix(name, Vendor+"/")
	if !below {
		return false
	}
	found, err := f.current()
	return err == nil && slices.ContainsFunc(found.lock.Packages, func(pack Package) bool {
		return inside == pack.Name || strings.HasPrefix(inside, pack.Name+"/")
	})
}

// Origin returns the package of a file of the layer, with its tag; "" if it is of none.
func (f *Files) Origin(name string) string {
	found, err := f.current()
	file, has := found.files[name]
	if err != nil || !has {
		return ""
	}
	pack, err := found.lock.Find(file.pack)
	if err != nil {
		return ""
	}
	if source, err := ParseSource(pack.Source); err == nil && source.Tag != "" {
		return pack.Name + "@" + source.Tag
	}
	return pack.Name
}

// entry is an entry of a folder under the name that the layer has.
type entry struct {
	fs.DirEntry
	name string
}

func (e entry) Name() string { return e.name }

// openFile is a file with its content, so that the content used is the content checked.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openFile) Close() error               { return nil }

// virtualInfo describes what lies nowhere: a folder of the layer, or a file that was not
// fetched.
type virtualInfo struct {
	name string
	mode fs.FileMode
}

func (v virtualInfo) Name() string      { return v.name }
func (virtualInfo) Size() int64         { return 0 }
func (v virtualInfo) Mode() fs.FileMode { return v.mode }
func (virtualInfo) ModTime() time.Time  { return time.Time{} }
func (v virtualInfo) IsDir() bool       { return v.mode.IsDir() }
func (virtualInfo) Sys() any            { return nil }
