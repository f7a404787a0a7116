package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"slices"
)

// A transaction of the build adds a segment: which files have which terms, sorted by term and
// cut into blocks. An entry of a block is the length of a term, the term, the length of the
// list and the list: the differences between the ids of its files. All numbers are varints.
// A file that changes gets a new id, larger than all before. What segments say of an old one
// is ignored, and left out when they are merged.

// blockBytes is the size of a block.
const blockBytes = 16 << 10

// inverter collects the terms of files that come by ascending id.
type inverter struct {
	terms counts
	lists []list // by term
}

// list is a list of ids, and the last of them.
type list struct {
	last  int64
	bytes []byte
}

// add adds the terms of a file, which are separated by spaces.
func (v *inverter) add(id int64, terms string) {
	if len(v.terms.slots) == 0 {
		v.terms.reset()
	}
	text := []byte(terms)
	for from := 0; from < len(text); {
		end := from
		for text[end] != ' ' {
			end++
		}
		at := v.terms.add(text[from:end], 1)
		if at == len(v.lists) {
			v.lists = append(v.lists, list{})
		}
		l := &v.lists[at]
		l.bytes = binary.AppendUvarint(l.bytes, uint64(id-l.last))
		l.last, from = id, end+1
	}
}

// write writes the terms as a segment.
func (v *inverter) write(into *blocks) {
	order := make([]int, len(v.lists))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(v.terms.at(a), v.terms.at(b)) })
	for _, i := range order {
		into.add(v.terms.at(i), v.lists[i].bytes)
	}
	into.end()
}

// blocks writes a segment. Its terms come sorted.
type blocks struct {
	write func(first, data []byte)
	first []byte
	data  []byte
}

func (b *blocks) add(term, list []byte) {
	if len(b.data) == 0 {
		b.first = slices.Clone(term)
	}
	b.data = append(binary.AppendUvarint(b.data, uint64(len(term))), term...)
	b.data = append(binary.AppendUvarint(b.data, uint64(len(list))), list...)
	if len(b.data) >= blockBytes {
		b.end()
	}
}

func (b *blocks) end() {
	if len(b.data) > 0 {
		b.write(b.first, b.data)
		b.data = nil
	}
}

// entry cuts the first entry off a block. It returns errStale for a block that no index writes.
func entry(data []byte) (term, list, rest []byte, err error) {
	for _, into := range []*[]byte{&term, &list} {
		length, size := binary.Uvarint(data)
		if size <= 0 || uint64(len(data)-size) < length {
			return nil, nil, nil, errStale
		}
		*into, data = data[size:size+int(length)], data[size+int(length):]
	}
	return term, list, data, nil
}

// idsOf decodes a list. It keeps the ids that the catalog has.
func (c *catalog) idsOf(list []byte, into []int64) ([]int64, error) {
	for last := int64(0); len(list) > 0; {
		step, size := binary.Uvarint(list)
		if size <= 0 || step > maxID {
			return nil, errStale
		}
		last, list = last+int64(step), list[size:]
		if c.at(last) != nil {
			into = append(into, last)
		}
	}
	return into, nil
}

// lookup returns the ids of the files with a term from low up to high that fits.
func (c *catalog) lookup(ctx context.Context, db *sql.DB, low, high string, fits func(term []byte) bool) (found []int64, err error) {
	rows, err := db.QueryContext(ctx, `SELECT b.data FROM (SELECT DISTINCT segment FROM segments) s CROSS JOIN blocks b
		WHERE b.segment = s.segment AND b.first < ?2 AND b.first >= coalesce((SELECT max(first) FROM blocks WHERE segment = s.segment AND first <= ?1), ?1)`, []byte(low), []byte(high))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var data sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		for rest := []byte(data); len(rest) > 0; {
			var term, list []byte
			if term, list, rest, err = entry(rest); err != nil {
				return nil, err
			}
			if string(term) < low || string(term) >= high || !fits(term) {
				continue
			}
			if found, err = c.idsOf(list, found); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), rows.Err()
}

// segment is a segment and its size.
type segment struct{ number, bytes int64 }

// maxSegments is how many segments there are at most after a refresh, as each costs a search
// a little.
const maxSegments = 8

// merge merges the newest segments if there are too many: all that are not more than twice
// as large as those after them together. So updates seldom rewrite much.
func (b *batches) merge(ctx context.Context) error {
	b.begin(ctx)
	rows, err := b.tx.QueryContext(ctx, "SELECT segment, bytes FROM segments ORDER BY segment DESC")
	if err != nil {
		return err
	}
	var newest []segment
	number, sum, larger := 0, int64(0), false
	for ; rows.Next() && err == nil; number++ {
		var each segment
		err = rows.Scan(&each.number, &each.bytes)
		if larger = larger || number > 0 && each.bytes > 2*sum; !larger {
			sum, newest = sum+each.bytes, append(newest, each)
		}
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil || number <= maxSegments || len(newest) < 2 {
		b.rollback()
		b.tx = nil
		return err
	}
	slices.Reverse(newest) // later segments have larger ids
	if err := b.mergeAll(ctx, newest); err != nil {
		return err
	}
	return b.commit(ctx)
}

func (b *batches) mergeAll(ctx context.Context, olds []segment) error {
	cursors := make([]*cursor, len(olds))
	for i, each := range olds {
		cursors[i] = &cursor{segment: each.number, first: []byte{}}
		if err := cursors[i].next(ctx, b); err != nil {
			return err
		}
	}
	into := b.segment(ctx)
	var ids []int64
	for {
		var least []byte
		for _, each := range cursors {
			if !each.ended && (least == nil || slices.Compare(each.term, least) < 0) {
				least = each.term
			}
		}
		if least == nil {
			break
		}
		least, ids = slices.Clone(least), ids[:0]
		for _, each := range cursors {
			if each.ended || string(each.term) != string(least) {
				continue
			}
			var err error
			if ids, err = b.index.catalog.idsOf(each.list, ids); err == nil {
				err = each.next(ctx, b)
			}
			if err != nil {
				return err
			}
		}
		var list []byte
		last := int64(0)
		for _, id := range ids {
			list = binary.AppendUvarint(list, uint64(id-last))
			last = id
		}
		if len(list) > 0 {
			into.add(least, list)
		}
	}
	into.end()
	for _, each := range olds {
		b.exec(ctx, "DELETE FROM blocks WHERE segment = ?", each.number)
		b.exec(ctx, "DELETE FROM segments WHERE segment = ?", each.number)
	}
	return b.err
}

// cursor reads the entries of a segment.
type cursor struct {
	segment    int64
	first      []byte // of the block that is read
	rest       []byte
	term, list []byte
	ended      bool
}

func (c *cursor) next(ctx context.Context, b *batches) (err error) {
	if len(c.rest) == 0 {
		err := b.tx.QueryRowContext(ctx, "SELECT first, data FROM blocks WHERE segment = ? AND first > ? ORDER BY first LIMIT 1", c.segment, c.first).Scan(&c.first, &c.rest)
		if errors.Is(err, sql.ErrNoRows) {
			c.ended = true
			return nil
		}
		if err != nil {
			return err
		}
	}
	c.term, c.list, c.rest, err = entry(c.rest)
	return err
}
