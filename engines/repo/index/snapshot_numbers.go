package index

import (
	"encoding/binary"
	"slices"
)

// numberWriter collects the two parts of a snapshot.
type numberWriter struct{ table, text []byte }

func (w *numberWriter) numbers(all ...uint64) {
	for _, each := range all {
		w.table = binary.LittleEndian.AppendUint64(w.table, each)
	}
}

func (w *numberWriter) name(name string) {
	w.numbers(uint64(len(name)))
	w.text = append(w.text, name...)
}

func (w *numberWriter) stamp(s stamp) {
	w.numbers(uint64(s.size), uint64(s.modified), uint64(s.changed), s.inode)
}

func (w *numberWriter) file(name string, listed bool, known *file) {
	flags := flag(listed, flagListed)
	if known == nil {
		known = &file{}
	} else {
		flags |= flagIndexed | flag(known.racy, flagRacy) | flagCause*uint64(slices.Index(causes, known.skipped))
	}
	w.stamp(known.stamp)
	w.name(name)
	w.numbers(uint64(known.id), known.hash, uint64(known.words), flags)
}

func flag(set bool, bit uint64) uint64 {
	if set {
		return bit
	}
	return 0
}

// numberReader takes a snapshot apart. What does not fit fails it.
type numberReader struct {
	table  []byte
	text   string
	failed bool
}

// divide says how long the table is; the rest is the text.
func (r *numberReader) divide(length uint64) bool {
	if length > uint64(len(r.table)) {
		return false
	}
	r.table, r.text = r.table[:length], string(r.table[length:])
	return true
}

// number takes the next one; the caller knows that there is one.
func (r *numberReader) number() uint64 {
	next := binary.LittleEndian.Uint64(r.table)
	r.table = r.table[8:]
	return next
}

func (r *numberReader) name() string {
	length := r.number()
	if length > uint64(len(r.text)) {
		r.failed = true
		return ""
	}
	name := r.text[:length]
	r.text = r.text[length:]
	return name
}

func (r *numberReader) stamp() stamp {
	return stamp{size: int64(r.number()), modified: int64(r.number()), changed: int64(r.number()), inode: r.number()}
}

// files reads what is listed into a listing, and returns what is indexed.
func (r *numberReader) files(length int, into *Listing) []*file {
	all := make([]file, length) // at once: a file each would take longer than all else
	indexed := make([]*file, 0, length)
	into.Files = make([]string, 0, length)
	for i := range all {
		f := &all[i]
		flags := r.file(f)
		if flags&flagListed != 0 {
			into.Files = append(into.Files, f.path)
		}
		if flags&flagIndexed != 0 {
			r.failed = r.failed || f.id < 1 || f.id > maxID
			indexed = append(indexed, f)
		}
	}
	return indexed
}

func (r *numberReader) file(f *file) (flags uint64) {
	f.stamp, f.path = r.stamp(), r.name()
	f.id, f.hash, f.words = int64(r.number()), r.number(), int(r.number())
	flags = r.number()
	f.racy = flags&flagRacy != 0
	cause := flags / flagCause
	if cause >= uint64(len(causes)) {
		r.failed = true
		return 0
	}
	f.skipped = causes[cause]
	return flags
}
