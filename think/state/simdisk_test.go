package state

import (
	"io/fs"
	"maps"
	"path"
	"strings"
	"syscall"
	"time"

	"savant/internal/atomicfile"
)

// simDisk is a disk in memory that knows what a crash may take: the bytes and
// the entries of folders that were not synced. It is harsher than real ones. A
// sync that failed leaves the bytes in place but never on the platter, as
// Linux does; a rename is two entries, each synced with its own folder.
type simDisk struct {
	folders map[string]*simFolder
	inodes  uint64
	clock   int64
	// calls counts what was asked of the disk; the failAt-th is hit by fault.
	calls, failAt int
	fault         simFault
	// refused is a call that fails whenever it is made.
	refused string
	// dead is set by a crash: nothing works until it is over.
	dead  bool
	trace []string
	open  int // handles
	// read is told of the bytes that were read.
	read func(bytes int)
	// meet happens before a call, as if another process did it; the calls it
	// makes do not count.
	meet func()
}

type simFault int

const (
	failEIO simFault = iota
	failENOSPC
	failEROFS
	failShort // half of a write happens
	failHard  // as EIO, and so do all calls that would clean up
	failCrash
)

type simFolder struct{ current, durable map[string]*simFile }

type simFile struct {
	inode            uint64
	current, durable []byte
	// dirty says of each current byte that the next sync will write it.
	dirty    []bool
	modified int64
	locks    map[*simHandle]bool // true for exclusive
}

// sector is the unit in which a crash keeps or loses what was written, in bytes.
const sector = 512

func newSimDisk() *simDisk {
	root := &simFolder{map[string]*simFile{}, map[string]*simFile{}}
	return &simDisk{folders: map[string]*simFolder{".": root}, failAt: -1, read: func(int) {}}
}

// hit counts a call and returns the error it is to give, if any.
func (d *simDisk) hit(call string) error {
	d.calls++
	if meet, count := d.meet, d.calls; meet != nil {
		d.meet = nil
		meet()
		d.meet, d.calls = meet, count
	}
	if d.dead {
		return syscall.EIO
	}
	if call == d.refused {
		return syscall.EROFS
	}
	d.trace = append(d.trace, call)
	if d.calls != d.failAt && (d.fault != failHard || d.failAt < 0 || d.calls < d.failAt || d.calls > d.failAt+3) {
		return nil
	}
	switch d.fault {
	case failENOSPC:
		return syscall.ENOSPC
	case failEROFS:
		return syscall.EROFS
	case failCrash:
		d.dead = true
	}
	return syscall.EIO
}

func (d *simDisk) find(name string) (*simFolder, *simFile, error) {
	folder, ok := d.folders[path.Dir(path.Clean(name))]
	if !ok {
		return nil, nil, syscall.ENOENT
	}
	return folder, folder.current[path.Base(name)], nil
}

func (d *simDisk) Open(name string, flags int) (file, error) {
	if err := d.hit("open " + name); err != nil {
		return nil, err
	}
	folder, found, err := d.find(name)
	if err != nil {
		return nil, err
	}
	if found == nil && flags&syscall.O_CREAT == 0 {
		return nil, syscall.ENOENT
	}
	if found == nil {
		found = d.newFile()
		folder.current[path.Base(name)] = found
	}
	d.open++
	return &simHandle{disk: d, file: found, name: name}, nil
}

// simBelow is an open folder of a simDisk.
type simBelow struct {
	disk *simDisk
	name string
}

func (d *simDisk) Folder(name string) (folder, error) {
	if err := d.hit("folder " + name); err != nil {
		return nil, err
	}
	if d.folders[name] == nil {
		return nil, syscall.ENOENT
	}
	d.open++
	return &simBelow{d, name}, nil
}

func (b *simBelow) Open(name string, flags int) (file, error) {
	return b.disk.Open(path.Join(b.name, name), flags)
}

func (b *simBelow) Close() error {
	b.disk.open--
	return nil
}

func (d *simDisk) newFile() *simFile {
	d.inodes++
	return &simFile{inode: d.inodes, locks: map[*simHandle]bool{}}
}

func (d *simDisk) Create(name string, _ fs.FileMode) (atomicfile.File, error) {
	if err := d.hit("create " + path.Dir(name)); err != nil {
		return nil, err
	}
	folder, found, err := d.find(name)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return nil, syscall.EEXIST
	}
	made := d.newFile()
	folder.current[path.Base(name)] = made
	d.open++
	return &simHandle{disk: d, file: made, name: "temporary"}, nil
}

func (d *simDisk) Touch(name string) error {
	if err := d.hit("touch " + name); err != nil {
		return err
	}
	_, found, err := d.find(name)
	if err != nil || found == nil {
		return syscall.ENOENT
	}
	d.clock++
	found.modified = d.clock
	return nil
}

func (d *simDisk) Mkdir(name string) error {
	if err := d.hit("mkdir " + name); err != nil {
		return err
	}
	folder, _, err := d.find(name)
	if err != nil {
		return err
	}
	if _, ok := d.folders[name]; ok {
		return syscall.EEXIST
	}
	d.folders[name] = &simFolder{map[string]*simFile{}, map[string]*simFile{}}
	folder.current[path.Base(name)+"/"] = d.newFile()
	return nil
}

func (d *simDisk) Rename(from, to string) error {
	if err := d.hit("rename to " + to); err != nil {
		return err
	}
	source, found, err := d.find(from)
	if err != nil {
		return err
	}
	target, _, err := d.find(to)
	if err != nil {
		return err
	}
	if _, ok := d.folders[from]; ok {
		return d.renameFolder(source, target, from, to)
	}
	if found == nil {
		return syscall.ENOENT
	}
	delete(source.current, path.Base(from))
	target.current[path.Base(to)] = found
	return nil
}

// renameFolder is durable at once: a folder in two places is more than a
// crash leaves.
func (d *simDisk) renameFolder(source, target *simFolder, from, to string) error {
	d.folders[to] = d.folders[from]
	delete(d.folders, from)
	for _, entries := range []func(*simFolder) map[string]*simFile{
		func(f *simFolder) map[string]*simFile { return f.current },
		func(f *simFolder) map[string]*simFile { return f.durable },
	} {
		if entry, ok := entries(source)[path.Base(from)+"/"]; ok {
			delete(entries(source), path.Base(from)+"/")
			entries(target)[path.Base(to)+"/"] = entry
		}
	}
	return nil
}

func (d *simDisk) Remove(name string) error {
	if err := d.hit("remove"); err != nil {
		return err
	}
	folder, found, err := d.find(name)
	if err != nil {
		return err
	}
	if sub, ok := d.folders[name]; ok && len(sub.current) > 0 {
		return syscall.ENOTEMPTY
	} else if ok {
		delete(d.folders, name)
		delete(folder.current, path.Base(name)+"/")
		delete(folder.durable, path.Base(name)+"/")
		return nil
	}
	if found == nil {
		return syscall.ENOENT
	}
	delete(folder.current, path.Base(name))
	return nil
}

func (d *simDisk) Stat(name string) (stat, error) {
	if err := d.hit("stat " + name); err != nil {
		return stat{}, err
	}
	if _, ok := d.folders[name]; ok {
		return stat{}, nil
	}
	_, found, err := d.find(name)
	if err != nil || found == nil {
		return stat{}, syscall.ENOENT
	}
	return found.stat(), nil
}

func (f *simFile) stat() stat {
	return stat{identity{1, f.inode}, int64(len(f.current)), time.Unix(f.modified, 0)}
}

func (d *simDisk) Entries(name string) ([]entry, error) {
	if err := d.hit("entries " + name); err != nil {
		return nil, err
	}
	if _, found, err := d.find(name); err == nil && found != nil {
		return nil, syscall.ENOTDIR
	}
	folder, ok := d.folders[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	entries := []entry{}
	for name, file := range folder.current {
		base, isFolder := strings.CutSuffix(name, "/")
		entries = append(entries, entry{base, isFolder, file.stat()})
	}
	return entries, nil
}

func (d *simDisk) SyncFolder(name string) error {
	folder, ok := d.folders[name]
	if !ok {
		return syscall.ENOENT
	}
	if err := d.hit("sync " + name); err != nil {
		return err
	}
	folder.durable = maps.Clone(folder.current)
	return nil
}

func (d *simDisk) Close() error { return nil }
