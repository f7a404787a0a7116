package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxWatched is the maximum number of watched folders per tree: the kernel uses about a
// kilobyte for each and has a limit per user.
const maxWatched = 10_000

// watchedEvents can change a file's stamp or the set of files. A close reveals a write
// through mmap.
const watchedEvents = syscall.IN_MODIFY | syscall.IN_CLOSE_WRITE | syscall.IN_ATTRIB | syscall.IN_CREATE | syscall.IN_DELETE |
	syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO | syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF

// localSystems are file systems whose every change goes through this kernel
// (statfs(2)). Network file systems change without events.
var localSystems = []int64{
	0xef53,     // ext2, ext3, ext4
	0x58465342, // xfs
	0x9123683e, // btrfs
	0xf2f52010, // f2fs
	0x2fc12fc1, // zfs
	0x01021994, // tmpfs
	0x794c7630, // overlayfs
}

var errUnwatched = errors.New("the folder cannot be watched")

// watch reports changes in folders (inotify(7)). The kernel queues an event before the
// modifying call returns, so reading the events reveals all earlier changes.
type watch struct {
	descriptor int
	folders    map[int32]string
}

// newWatch watches folders, which are relative to a folder. Errors are
// errUnwatched and those of the kernel.
func newWatch(folder string, folders []string) (*watch, error) {
	if len(folders) > maxWatched {
		return nil, errUnwatched
	}
	descriptor, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	w := &watch{descriptor: descriptor, folders: make(map[int32]string, len(folders))}
	for _, name := range folders {
		if err := w.add(filepath.Join(folder, filepath.FromSlash(name)), name); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

func (w *watch) add(full, name string) error {
	var system syscall.Statfs_t
	number, err := syscall.InotifyAddWatch(w.descriptor, full, watchedEvents|syscall.IN_ONLYDIR|syscall.IN_DONT_FOLLOW)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) {
		return nil // deleted since it was listed: the folder above has changed
	}
	if err == nil {
		err = syscall.Statfs(full, &system)
	}
	if err != nil {
		return err
	}
	_, twice := w.folders[int32(number)] // mounted in two places
	if twice || !slices.Contains(localSystems, int64(system.Type)) {
		return errUnwatched
	}
	w.folders[int32(number)] = name
	return nil
}

func (w *watch) close() error { return syscall.Close(w.descriptor) }

// events returns the changes since the last call. ok is false if events were lost.
func (w *watch) events() (events []event, ok bool) {
	buffer := make([]byte, 64<<10)
	for ok = true; ; {
		length, err := syscall.Read(w.descriptor, buffer)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return events, ok
		case err != nil || length <= 0:
			return events, false
		}
		for rest := buffer[:length]; len(rest) >= syscall.SizeofInotifyEvent; {
			var known bool
			events, rest, known = w.decode(events, rest)
			ok = ok && known
		}
	}
}

// decode takes one event off a read (struct inotify_event).
func (w *watch) decode(events []event, read []byte) (_ []event, rest []byte, ok bool) {
	number, mask := int32(binary.NativeEndian.Uint32(read)), binary.NativeEndian.Uint32(read[4:])
	end := min(len(read), syscall.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(read[12:])))
	raw, _, _ := bytes.Cut(read[syscall.SizeofInotifyEvent:end], []byte{0})
	name, rest := string(raw), read[end:]
	if mask&syscall.IN_Q_OVERFLOW != 0 {
		return events, rest, false
	}
	folder, known := w.folders[number]
	made := event{
		path:    strings.TrimPrefix(path.Join(folder, name), "./"),
		appears: mask&(syscall.IN_CREATE|syscall.IN_MOVED_TO) != 0,
		folder:  name == "" || mask&syscall.IN_ISDIR != 0,
	}
	if last := len(events) - 1; last < 0 || events[last] != made {
		events = append(events, made)
	}
	return events, rest, known
}
