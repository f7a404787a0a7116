package state

import (
	"maps"
	"math/rand/v2"
	"path"
	"slices"
)

// crash is the end of all processes and of what was not synced, of which
// chance decides: 0 nothing of it survives, 1 all, else each part by itself.
func (d *simDisk) crash(chance float64, random *rand.Rand) {
	survives := func() bool { return random.Float64() < chance }
	kept := d.renamed()
	names := slices.Sorted(maps.Keys(d.folders))
	for _, name := range names {
		d.crashEntries(d.folders[name], survives)
	}
	d.keepRenamed(kept)
	for _, name := range names {
		folder := d.folders[name]
		for _, entry := range slices.Sorted(maps.Keys(folder.current)) {
			folder.current[entry].crash(survives)
		}
	}
	d.dropLostFolders()
	d.dead, d.failAt, d.calls = false, -1, 0
}

// kill is the end of all processes, and of nothing else.
func (d *simDisk) kill() {
	for _, folder := range d.folders {
		for _, file := range folder.current {
			file.locks = map[*simHandle]bool{}
		}
	}
}

func (d *simDisk) crashEntries(folder *simFolder, survives func() bool) {
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

// crash mixes what was synced and what was not, in whole sectors; bytes that
// did not reach the disk are zero.
func (f *simFile) crash(survives func() bool) {
	length := len(f.durable)
	if len(f.current) != length && survives() {
		length = len(f.current)
	}
	left := make([]byte, length)
	for start := 0; start < length; start += sector {
		from := f.durable
		if survives() {
			from = f.current
		}
		for i := start; i < min(start+sector, length, len(from)); i++ {
			left[i] = from[i]
			if i < len(f.current) && i < len(f.durable) && !f.dirty[i] {
				left[i] = f.durable[i]
			}
		}
	}
	f.current, f.durable = left, slices.Clone(left)
	f.dirty = make([]bool, length)
	f.locks = map[*simHandle]bool{}
}
