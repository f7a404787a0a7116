package state

import (
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
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
	// dead is set by a crash: nothing works until it is over.
	dead  bool
	trace []string
	open  int // handles
	// read is told of the bytes that were read.
	read func(bytes int)
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

func newSimDisk() *simDisk {
	root := &simFolder{map[string]*simFile{}, map[string]*simFile{}}
	return &simDisk{folders: map[string]*simFolder{".": root}, failAt: -1, read: func(int) {}}
}

// hit counts a call and returns the error it is to give, if any.
func (d *simDisk) hit(call string) error {
	d.calls++
	if d.dead {
		return syscall.EIO
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
	if sub, ok := d.folders[name]; ok && len(sub.current) == 0 {
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

func (d *simDisk) Names(name string) ([]string, error) {
	if err := d.hit("names " + name); err != nil {
		return nil, err
	}
	folder, ok := d.folders[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	names := []string{}
	for name := range folder.current {
		names = append(names, strings.TrimSuffix(name, "/"))
	}
	return names, nil
}

func (d *simDisk) Folder(name string) (disk, error) {
	if _, ok := d.folders[name]; !ok {
		return nil, syscall.ENOENT
	}
	return subDisk{d, name}, nil
}

// subDisk is what List reads through.
type subDisk struct {
	*simDisk
	folder string
}

func (d subDisk) Open(name string, flags int) (file, error) {
	return d.simDisk.Open(path.Join(d.folder, name), flags)
}

func (d subDisk) Names(name string) ([]string, error) {
	return d.simDisk.Names(path.Join(d.folder, name))
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

// crash is the end of all processes and of what was not synced, of which
// chance decides: 0 nothing of it survives, 1 all, else each part by itself.
func (d *simDisk) crash(chance float64, random *rand.Rand) {
	survives := func() bool { return random.Float64() < chance }
	kept := d.renamed()
	names := slices.Sorted(maps.Keys(d.folders))
	for _, name := range names {
		d.settleEntries(d.folders[name], survives)
	}
	d.keepRenamed(kept)
	for _, name := range names {
		folder := d.folders[name]
		for _, entry := range slices.Sorted(maps.Keys(folder.current)) {
			folder.current[entry].settle(survives)
		}
	}
	d.dropLostFolders()
	d.dead, d.failAt, d.calls = false, -1, 0
}

func (d *simDisk) settleEntries(folder *simFolder, survives func() bool) {
	names := map[string]bool{}
	for name := range folder.current {
		names[name] = true
	}
	for name := range folder.durable {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if folder.current[name] == folder.durable[name] || survives() {
			continue
		}
		if folder.durable[name] == nil {
			delete(folder.current, name)
		} else {
			folder.current[name] = folder.durable[name]
		}
	}
	folder.durable = maps.Clone(folder.current)
}

// place is an entry of a folder.
type place struct{ folder, name string }

// renamed returns, of each file that has a name and had a durable one, the
// durable one: file systems may forget a rename, but never both names.
func (d *simDisk) renamed() map[*simFile]place {
	named := map[*simFile]bool{}
	for _, folder := range d.folders {
		for _, file := range folder.current {
			named[file] = true
		}
	}
	kept := map[*simFile]place{}
	for folderName, folder := range d.folders {
		for name, file := range folder.durable {
			if named[file] {
				kept[file] = place{folderName, name}
			}
		}
	}
	return kept
}

func (d *simDisk) keepRenamed(kept map[*simFile]place) {
	for _, folder := range d.folders {
		for _, file := range folder.current {
			delete(kept, file)
		}
	}
	for file, place := range kept {
		folder := d.folders[place.folder]
		folder.current[place.name], folder.durable[place.name] = file, file
	}
}

// dropLostFolders removes the folders whose name did not survive.
func (d *simDisk) dropLostFolders() {
	for _, name := range slices.Sorted(maps.Keys(d.folders)) {
		above, ok := d.folders[path.Dir(name)]
		if name != "." && (!ok || above.current[path.Base(name)+"/"] == nil) {
			delete(d.folders, name)
		}
	}
}

// settle mixes what was synced and what was not, in whole sectors; bytes that
// did not reach the disk are zero.
func (f *simFile) settle(survives func() bool) {
	length := len(f.durable)
	if len(f.current) != length && survives() {
		length = len(f.current)
	}
	settled := make([]byte, length)
	for start := 0; start < length; start += sector {
		from := f.durable
		if survives() {
			from = f.current
		}
		for i := start; i < min(start+sector, length, len(from)); i++ {
			settled[i] = from[i]
			if i < len(f.current) && i < len(f.durable) && !f.dirty[i] {
				settled[i] = f.durable[i]
			}
		}
	}
	f.current, f.durable = settled, slices.Clone(settled)
	f.dirty = make([]bool, length)
	f.locks = map[*simHandle]bool{}
}

// simHandle is an open file.
type simHandle struct {
	disk   *simDisk
	file   *simFile
	name   string
	offset int64
}

func (h *simHandle) ReadAt(data []byte, offset int64) (int, error) {
	if err := h.disk.hit("read " + h.name); err != nil {
		return 0, err
	}
	n := copy(data, h.file.current[min(offset, int64(len(h.file.current))):])
	h.disk.read(n)
	if n < len(data) {
		return n, io.EOF
	}
	return n, nil
}

func (h *simHandle) Write(data []byte) (int, error) {
	n, err := h.WriteAt(data, h.offset)
	h.offset += int64(n)
	return n, err
}

func (h *simHandle) WriteAt(data []byte, offset int64) (int, error) {
	err := h.disk.hit("write " + h.name)
	if err != nil {
		if h.disk.fault != failShort && h.disk.fault != failHard && h.disk.fault != failCrash {
			return 0, err
		}
		data = data[:len(data)/2]
		err = syscall.ENOSPC
	}
	h.resize(max(len(h.file.current), int(offset)+len(data)))
	copy(h.file.current[offset:], data)
	for i := range data {
		h.file.dirty[int(offset)+i] = true
	}
	return len(data), err
}

func (h *simHandle) resize(length int) {
	f := h.file
	for len(f.current) < length {
		f.current, f.dirty = append(f.current, 0), append(f.dirty, true)
	}
	f.current, f.dirty = f.current[:length], f.dirty[:length]
	h.disk.clock++
	f.modified = h.disk.clock
}

func (h *simHandle) Truncate(size int64) error {
	if err := h.disk.hit("truncate " + h.name); err != nil {
		return err
	}
	h.resize(int(size))
	return nil
}

func (h *simHandle) Sync() error {
	err := h.disk.hit("sync " + h.name)
	f := h.file
	if err == nil || !h.disk.dead {
		settled := make([]byte, len(f.current))
		copy(settled, f.durable)
		for i := range settled {
			if f.dirty[i] && err == nil {
				settled[i] = f.current[i]
			}
			f.dirty[i] = false
		}
		f.durable = settled
	}
	return err
}

func (h *simHandle) Stat() (stat, error) {
	if err := h.disk.hit("fstat " + h.name); err != nil {
		return stat{}, err
	}
	return h.file.stat(), nil
}

func (h *simHandle) TryLock(exclusive bool) (bool, error) {
	if err := h.disk.hit("lock " + h.name); err != nil {
		return false, err
	}
	for other, theirs := range h.file.locks {
		if other != h && (exclusive || theirs) {
			return false, nil
		}
	}
	h.file.locks[h] = exclusive
	return true, nil
}

func (h *simHandle) Unlock() error {
	if err := h.disk.hit("unlock " + h.name); err != nil {
		return err
	}
	delete(h.file.locks, h)
	return nil
}

func (h *simHandle) Close() error {
	delete(h.file.locks, h)
	h.disk.open--
	return nil
}
