package index

import (
	"context"
	"database/sql"
	"slices"
)

// postings are the ids of the files that have a leaf, ascending.
type postings struct {
	body     []int64 // files whose text has it
	frequent []int64 // files that have it often
	defined  []int64 // files that define a name with it
	path     []int64 // files whose path has it
}

// fetch asks the index for a leaf. The answer has every file with the leaf. It may
// also have files where the parts are not together; reading the file decides.
func (l *leaf) fetch(ctx context.Context, db *sql.DB, c *catalog) (found postings, err error) {
	for _, each := range []struct {
		mark string
		into *[]int64
	}{{"", &found.body}, {string(markFrequent), &found.frequent}, {string(markDefined), &found.defined}, {string(markPath), &found.path}} {
		if *each.into, err = l.marked(ctx, db, c, each.mark); err != nil {
			return postings{}, err
		}
	}
	return found, nil
}

// marked returns the files that have the leaf with a mark.
func (l *leaf) marked(ctx context.Context, db *sql.DB, c *catalog, mark string) (found []int64, err error) {
	look := func(term string, prefix bool) (ids []int64) {
		if err == nil {
			high := mark + term + "\x00"
			if prefix {
				high = mark + term + "\xff"
			}
			ids, err = c.lookup(ctx, db, mark+term, high, func([]byte) bool { return true })
		}
		return ids
	}
	for i, part := range l.parts {
		ids := look(part, l.prefix && i == len(l.parts)-1)
		if i > 0 {
			ids = slices.DeleteFunc(ids, func(id int64) bool {
				_, has := slices.BinarySearch(found, id)
				return !has
			})
		}
		found = ids
	}
	if l.whole != "" && (len(l.parts) > 1 || l.whole != l.parts[0]) {
		found = append(found, look(l.whole, l.prefix)...)
	}
	if len(l.forms) > 0 && err == nil {
		var others []int64
		low := mark + l.needle()
		others, err = c.lookup(ctx, db, low, low+"\xff", func(term []byte) bool { return l.inForms(term[len(mark):]) })
		found = append(found, others...)
	}
	if mark == string(markPath) {
		for _, short := range l.short {
			found = append(found, look(short, false)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), err
}

// has reports whether a file has the leaf in its text or path.
func (p *postings) has(id int64) bool {
	_, inBody := slices.BinarySearch(p.body, id)
	_, inPath := slices.BinarySearch(p.path, id)
	return inBody || inPath
}

// mayHold reports whether a node may be true for a file. Reading the file decides about
// negated nodes.
func (n *node) mayHold(found []postings, id int64) bool {
	may := func(each *node) bool { return each.mayHold(found, id) }
	switch n.operator {
	case opLeaf:
		return found[n.leaf].has(id)
	case opNot:
		return true
	case opAny:
		return slices.ContainsFunc(n.nodes, may)
	default:
		return !slices.ContainsFunc(n.nodes, func(each *node) bool { return !may(each) })
	}
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
