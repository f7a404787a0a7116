package index

import (
	"bytes"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"savant/internal/atomicfile"
)

// snapshot is what a process knew when it let go of an index, for the next one:
// to read the catalog from the database and to list the folder take longer
// than all else of a search. It is believed no further than what its process
// believed: the catalog where the database has the same edition, the listing
// where each of its sources has the same stamp.
type snapshot struct {
	catalog *catalog
	listing Listing
	sources []source
	listed  time.Time
}

// saved is what the snapshot in the cache folder holds.
type saved struct {
	edition edition
	listed  time.Time
}

// snapshotEnding takes the place of the database's.
const snapshotEnding = ".known"

func snapshotFile(database string) string {
	return strings.TrimSuffix(database, filepath.Ext(database)) + snapshotEnding
}

// restore reads the snapshot, nil where there is none that can be used.
func restore(database string) *snapshot {
	data, err := os.ReadFile(snapshotFile(database))
	if err != nil {
		return nil
	}
	return decodeSnapshot(data)
}

// save writes the snapshot where there is something new to know. Without one
// nothing is lost but time, so that a failure is none. Only the holder of
// refreshing may call it.
func (ix *Index) save() {
	now := saved{ix.catalog.edition, ix.tree.listed}
	if ix.tree.sources == nil || now == ix.saved {
		return
	}
	cache, err := os.OpenRoot(filepath.Dir(ix.file))
	if err != nil {
		return
	}
	defer cache.Close()
	data := encodeSnapshot(&snapshot{ix.catalog, ix.tree.listing, ix.tree.sources, ix.tree.listed})
	if atomicfile.Replace(atomicfile.Root(cache), filepath.Base(snapshotFile(ix.file)), data, 0o600, atomicfile.Lazy) == nil {
		ix.saved = now
	}
}

// adoptSnapshot takes over what a snapshot tells of the folder.
func (ix *Index) adoptSnapshot(from *snapshot) {
	if ix.tree.sources == nil {
		ix.tree.listing, ix.tree.sources, ix.tree.listed = from.listing, from.sources, from.listed
	}
	ix.saved = saved{from.catalog.edition, from.listed}
}

// A snapshot is written as a mark, a checksum of what follows, a table of
// numbers and a text. Each number is 8 bytes, little endian: those of the
// heading, those of each listed or indexed file, those of each source. The text
// is the names of the files and the sources, one after the other.
const (
	snapshotMark   = "savant index 2\n\x00"
	headingNumbers = 8
	fileNumbers    = 9
	sourceNumbers  = 5
)

// What a file of a snapshot is: bits of its last number.
const (
	flagListed = 1 << iota
	flagIndexed
	flagRacy
	flagCause // and above: why it is skipped
)

var causes = []string{"", skippedBinary, skippedLarge, skippedUnreadable}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// union yields the files of a listing and a catalog, in order; known is nil for
// what is not indexed.
func union(listed []string, indexed []*file, yield func(name string, listed bool, known *file)) {
	for len(listed) > 0 || len(indexed) > 0 {
		switch {
		case len(indexed) == 0 || len(listed) > 0 && listed[0] < indexed[0].path:
			yield(listed[0], true, nil)
			listed = listed[1:]
		case len(listed) == 0 || indexed[0].path < listed[0]:
			yield(indexed[0].path, false, indexed[0])
			indexed = indexed[1:]
		default:
			yield(listed[0], true, indexed[0])
			listed, indexed = listed[1:], indexed[1:]
		}
	}
}

func encodeSnapshot(s *snapshot) []byte {
	var files uint64
	w := &numberWriter{}
	union(s.listing.Files, s.catalog.files, func(name string, listed bool, known *file) {
		files++
		w.file(name, listed, known)
	})
	for _, each := range s.sources {
		w.stamp(each.stamp)
		w.name(each.name)
	}
	heading := &numberWriter{}
	heading.numbers(uint64(s.catalog.edition.generation), uint64(s.catalog.edition.built), uint64(s.listed.UnixNano()),
		flag(s.listing.Git, 1), files, uint64(len(s.listing.Folders)), uint64(len(s.listing.Rules)), uint64(len(s.sources)))
	return sealed(slices.Concat(heading.table, w.table, w.text))
}

func sealed(body []byte) []byte {
	sum := &numberWriter{}
	sum.numbers(uint64(crc32.Checksum(body, castagnoli)))
	return slices.Concat([]byte(snapshotMark), sum.table, body)
}

// decodeSnapshot returns nil for what is no snapshot, or a damaged one.
func decodeSnapshot(data []byte) *snapshot {
	body, ok := bytes.CutPrefix(data, []byte(snapshotMark))
	if !ok || len(body) < 8*(1+headingNumbers) {
		return nil
	}
	r := &numberReader{table: body}
	if sum := r.number(); sum != uint64(crc32.Checksum(r.table, castagnoli)) {
		return nil
	}
	return r.snapshot()
}

func (r *numberReader) snapshot() *snapshot {
	of := edition{int64(r.number()), int64(r.number())}
	s := &snapshot{listed: time.Unix(0, int64(r.number()))}
	s.listing.Git = r.number() != 0
	files, folders, rules, sources := r.number(), r.number(), r.number(), r.number()
	if files > maxID || sources > maxID || folders+rules > sources || !r.divide(8*(files*fileNumbers+sources*sourceNumbers)) {
		return nil
	}
	indexed := r.files(int(files), &s.listing)
	names := make([]string, sources)
	s.sources = make([]source, sources)
	for i := range s.sources {
		s.sources[i].stamp = r.stamp()
		names[i] = r.name()
		s.sources[i].name = names[i]
	}
	if r.failed {
		return nil
	}
	s.listing.Folders, s.listing.Rules = names[:folders:folders], names[folders:folders+rules:folders+rules]
	s.catalog = newCatalog(of, indexed)
	return s
}
