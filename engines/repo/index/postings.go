package index

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// postings are the ids of the files that have a leaf, ascending.
type postings struct {
	body     []int64 // files whose text has it
	frequent []int64 // files that have it often
	defined  []int64 // files that define a name with it
	path     []int64 // files whose path has it
}

// lookup finds the files of a catalog by their terms.
type lookup struct {
	blocks  *sql.Stmt
	catalog *catalog
}

// blocksOf selects the blocks that may have the terms from one on and below another. The join is
// a CROSS JOIN so that SQLite does not begin with all blocks.
const blocksOf = `SELECT data FROM segments CROSS JOIN blocks ON segment = segments.id AND first < ?2 AND first >=
	coalesce((SELECT first FROM blocks WHERE segment = segments.id AND first <= ?1 ORDER BY first DESC LIMIT 1), x'')`

// ids returns the files that have a term, or one that begins with it.
func (l *lookup) ids(ctx context.Context, term string, prefix bool) (found []int64, err error) {
	beyond := term + "\x00"
	if prefix {
		beyond = term + "\xff" // which no term has
	}
	rows, err := l.blocks.QueryContext(ctx, []byte(term), []byte(beyond))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var data sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		block := blockReader{data: data}
		for block.next() {
			if string(block.term) == term || prefix && strings.HasPrefix(string(block.term), term) {
				block.eachID(func(id int64) {
					if l.catalog.fileByID(id) != nil { // else it was the file's before it changed
						found = append(found, id)
					}
				})
			}
		}
		if block.damaged {
			return nil, errStale
		}
	}
	return union(found), rows.Err()
}

// union returns the ids of several lists, sorted.
func union(lists ...[]int64) []int64 {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// intersection returns the ids of the first list that the second one has. Both are sorted.
func intersection(first, second []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(first), func(id int64) bool {
		_, has := slices.BinarySearch(second, id)
		return !has
	})
}

// fetch asks the index for a leaf. The answer has every file with the leaf. It may
// also have files where the parts are not together; reading the file decides.
func (l *leaf) fetch(ctx context.Context, from *lookup) (found postings, err error) {
	for _, each := range []struct {
		mark string
		into *[]int64
	}{{"", &found.body}, {string(markFrequent), &found.frequent}, {string(markDefined), &found.defined}, {string(markPath), &found.path}} {
		if *each.into, err = l.ids(ctx, from, each.mark); err != nil {
			return postings{}, err
		}
	}
	return found, nil
}

// ids returns the files that have a leaf's terms with a mark: all its parts, or the whole, or
// another form.
func (l *leaf) ids(ctx context.Context, from *lookup, mark string) ([]int64, error) {
	var all []int64
	for i, part := range l.parts {
		found, err := from.ids(ctx, mark+part, l.prefix && i == len(l.parts)-1)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			found = intersection(all, found)
		}
		all = found
	}
	others := slices.Clone(l.forms)
	if l.whole != "" && (len(l.parts) > 1 || l.whole != l.parts[0]) {
		others = append(others, l.whole)
	}
	if mark == string(markPath) {
		others = append(others, l.short...)
	}
	for _, other := range others {
		found, err := from.ids(ctx, mark+other, l.prefix && other == l.whole)
		if err != nil {
			return nil, err
		}
		all = union(all, found)
	}
	return all, nil
}

// ids returns every file that a node may match, and maybe others. Negated nodes are left out;
// reading the file decides about them.
func (n *node) ids(found []postings) (all []int64) {
	if n.operator == opLeaf {
		return union(found[n.leaf].body, found[n.leaf].path)
	}
	for i, each := range slices.DeleteFunc(slices.Clone(n.nodes), func(each *node) bool { return !each.positive() }) {
		switch these := each.ids(found); {
		case n.operator == opAny:
			all = union(all, these)
		case i == 0:
			all = these
		default:
			all = intersection(all, these)
		}
	}
	return all
}

// holds reports whether a node is true for a file, given which leaves the file has.
func (n *node) holds(found []bool) bool {
	switch n.operator {
	case opLeaf:
		return found[n.leaf]
	case opNot:
		return !n.nodes[0].holds(found)
	case opAny:
		return slices.ContainsFunc(n.nodes, func(each *node) bool { return each.holds(found) })
	default:
		return !slices.ContainsFunc(n.nodes, func(each *node) bool { return !each.holds(found) })
	}
}
