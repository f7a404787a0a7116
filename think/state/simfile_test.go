package state

import (
	"fmt"
	"io"
	"slices"
	"syscall"
)

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
	copy(h.file.dirty[offset:], slices.Repeat([]bool{true}, len(data)))
	return len(data), err
}

func (h *simHandle) resize(length int) {
	f := h.file
	if more := length - len(f.current); more > 0 {
		f.current, f.dirty = append(f.current, make([]byte, more)...), append(f.dirty, slices.Repeat([]bool{true}, more)...)
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
		synced := make([]byte, len(f.current))
		copy(synced, f.durable)
		for i, dirty := range f.dirty {
			if dirty && err == nil {
				synced[i] = f.current[i]
			}
		}
		clear(f.dirty)
		f.durable = synced
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

// Identity implements file: a file of the disk has its own, whatever happens to the disk.
func (h *simHandle) Identity() string { return fmt.Sprintf("%d-1", h.file.inode) }
