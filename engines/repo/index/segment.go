package index

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"slices"
)

// The terms of all files are in segments, each of which has those of the files of some
// transactions. A segment is a list of blocks in the order of terms. A block has entries: how many
// bytes a term shares with the one before, the length of the rest and the rest, the length of the
// ids and the ids, each the difference to the one before. All numbers are varints.

// blockSize is how long a block is, in bytes, so that it fits a page of the database. Only one
// entry may be longer.
const blockSize = 3900

// maxMerged bounds a segment that is made of others.
const maxMerged = 1 << 20 // places

// terms are the terms of one document: the sum of each, and their texts with a byte before
// each that has its length.
type terms struct {
	sums []uint64
	text []byte
}

// segment collects the terms of documents until it is written.
type segment struct {
	terms  *counts
	places []occurrence
}

// occurrence says that a document has a term.
type occurrence struct{ term, id uint32 }

func newSegment(seed maphash.Seed) *segment { return &segment{terms: newCounts(seed)} }

func (s *segment) add(id int64, of terms) {
	text := of.text
	for _, sum := range of.sums {
		end := 1 + int(text[0])
		s.places = append(s.places, occurrence{s.terms.put(sum, text[1:end], 1), uint32(id)}) //nolint:gosec // at most maxID
		text = text[end:]
	}
}

// save writes the collected terms, with those of the newest segments that have no more than all
// after them: so a term is written again only when its segment doubles.
func (b *batches) save(ctx context.Context) {
	var newest int64
	var merged []int64
	merging, size := true, len(b.segment.places)
	b.query(ctx, func(rows *sql.Rows) error {
		var id int64
		var places int
		err := rows.Scan(&id, &places)
		newest = max(newest, id)
		if merging = merging && places <= size && size+places <= maxMerged; merging {
			merged, size = append(merged, id), size+places
		}
		return err
	}, "SELECT id, places FROM segments ORDER BY id DESC")
	for _, id := range merged {
		b.query(ctx, b.segment.read, "SELECT data FROM blocks WHERE segment = ?", id)
		b.exec(ctx, "DELETE FROM blocks WHERE segment = ?", id)
		b.exec(ctx, "DELETE FROM segments WHERE id = ?", id)
	}
	b.exec(ctx, "INSERT INTO segments(id, places) VALUES(?, ?)", newest+1, len(b.segment.places))
	b.segment.write(ctx, &blockWriter{batch: b, segment: newest + 1})
}

// query reads the rows of a query unless an earlier statement failed.
func (b *batches) query(ctx context.Context, read func(*sql.Rows) error, text string, arguments ...any) {
	if b.err != nil {
		return
	}
	rows, err := b.tx.QueryContext(ctx, text, arguments...)
	if b.err = err; err != nil {
		return
	}
	for b.err == nil && rows.Next() {
		b.err = read(rows)
	}
	b.err = errors.Join(b.err, rows.Err(), rows.Close())
}

// read adds a block of another segment.
func (s *segment) read(rows *sql.Rows) error {
	var data sql.RawBytes
	if err := rows.Scan(&data); err != nil {
		return err
	}
	block := blockReader{data: data}
	for block.next() {
		term := s.terms.put(maphash.Bytes(s.terms.seed, block.term), block.term, 0)
		block.eachID(func(id int64) {
			s.terms.entries[term].times++
			s.places = append(s.places, occurrence{term, uint32(id)}) //nolint:gosec // at most maxID
		})
	}
	if block.damaged {
		return errStale
	}
	return nil
}

// write writes the segment.
func (s *segment) write(ctx context.Context, into *blockWriter) {
	ids := make([]uint32, len(s.places))
	ends := make([]int, len(s.terms.entries)) // at first the starts
	for i, start := 0, 0; i < len(ends); i++ {
		ends[i], start = start, start+s.terms.entries[i].times
	}
	for _, each := range s.places {
		ids[ends[each.term]] = each.id
		ends[each.term]++
	}
	for _, i := range s.terms.sorted() {
		these := ids[ends[i]-s.terms.entries[i].times : ends[i]]
		slices.Sort(these) // the older ones came last
		into.add(ctx, s.terms.textAt(i), these)
	}
	into.flush(ctx)
}

// sorted returns the indexes of the texts in their order.
func (c *counts) sorted() []int {
	type key struct {
		start uint64 // the first eight bytes
		index int
	}
	keys := make([]key, len(c.entries))
	for i := range keys {
		var start [8]byte
		copy(start[:], c.textAt(i))
		keys[i] = key{binary.BigEndian.Uint64(start[:]), i}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return bytes.Compare(c.textAt(a.index), c.textAt(b.index))
	})
	order := make([]int, len(keys))
	for i := range keys {
		order[i] = keys[i].index
	}
	return order
}

// blockWriter writes the blocks of a new segment. Terms come in their order.
type blockWriter struct {
	batch             *batches
	segment           int64
	first, last, data []byte // of the block that is made
	ids               []byte
}

func (w *blockWriter) add(ctx context.Context, term []byte, ids []uint32) {
	last := uint32(0)
	w.ids = w.ids[:0]
	for _, id := range ids {
		w.ids, last = binary.AppendUvarint(w.ids, uint64(id-last)), id
	}
	if len(w.data)+len(term)+len(w.ids) > blockSize {
		w.flush(ctx)
	}
	if len(w.data) == 0 {
		w.first, w.last = append(w.first[:0], term...), w.last[:0]
	}
	shared := 0
	for shared < min(len(w.last), len(term)) && w.last[shared] == term[shared] {
		shared++
	}
	w.last = append(w.last[:0], term...)
	w.data = binary.AppendUvarint(w.data, uint64(shared)) //nolint:gosec // a length
	w.data = append(binary.AppendUvarint(w.data, uint64(len(term)-shared)), term[shared:]...)
	w.data = append(binary.AppendUvarint(w.data, uint64(len(w.ids))), w.ids...)
}

func (w *blockWriter) flush(ctx context.Context) {
	if len(w.data) > 0 {
		w.batch.exec(ctx, "INSERT INTO blocks(segment, first, data) VALUES(?, ?, ?)", w.segment, w.first, w.data)
	}
	w.data = w.data[:0]
}

// blockReader reads the entries of a block.
type blockReader struct {
	data      []byte
	term, ids []byte // of the present entry
	damaged   bool
}

// next moves to the next entry, and returns false after the last one and where the block is
// damaged.
func (r *blockReader) next() bool {
	if len(r.data) == 0 {
		return false
	}
	shared, rest := r.number(), r.bytes()
	if r.ids = r.bytes(); r.damaged || shared > uint64(len(r.term)) {
		r.damaged = true
		return false
	}
	r.term = append(r.term[:shared], rest...)
	return true
}

func (r *blockReader) number() uint64 {
	number, length := binary.Uvarint(r.data)
	if length <= 0 {
		r.damaged, r.data = true, nil
		return 0
	}
	r.data = r.data[length:]
	return number
}

func (r *blockReader) bytes() []byte {
	length := r.number()
	if length > uint64(len(r.data)) {
		r.damaged, r.data = true, nil
		return nil
	}
	part := r.data[:length]
	r.data = r.data[length:]
	return part
}

// eachID yields the ids of the present entry.
func (r *blockReader) eachID(yield func(id int64)) {
	id := int64(0)
	for ids := r.ids; len(ids) > 0; {
		step, length := binary.Uvarint(ids)
		if length <= 0 || step > maxID {
			r.damaged = true
			return
		}
		id, ids = min(id+int64(step), maxID), ids[length:]
		yield(id)
	}
}
