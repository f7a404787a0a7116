package index

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
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
func (l *leaf) fetch(ctx context.Context, db *sql.DB) (found postings, err error) {
	for _, each := range []struct {
		mark string
		into *[]int64
	}{{"", &found.body}, {string(markFrequent), &found.frequent}, {string(markDefined), &found.defined}, {string(markPath), &found.path}} {
		if *each.into, err = ids(ctx, db, l.match(each.mark)); err != nil {
			return postings{}, err
		}
	}
	return found, nil
}

// match returns the leaf as an FTS5 expression over terms with a mark. Terms are
// quoted, so that nothing in them is read as FTS5 syntax.
func (l *leaf) match(mark string) string {
	var parts []string
	for i, part := range l.parts {
		parts = append(parts, quoteTerm(mark+part, l.prefix && i == len(l.parts)-1))
	}
	expression := "(" + strings.Join(parts, " AND ") + ")"
	if l.whole != "" && (len(l.parts) > 1 || l.whole != l.parts[0]) {
		expression += " OR " + quoteTerm(mark+l.whole, l.prefix)
	}
	for _, form := range l.forms {
		expression += " OR " + quoteTerm(mark+form, false)
	}
	if mark == string(markPath) {
		for _, short := range l.short {
			expression += " OR " + quoteTerm(mark+short, false)
		}
	}
	return expression
}

func quoteTerm(term string, prefix bool) string {
	if prefix {
		return `"` + term + `"*`
	}
	return `"` + term + `"`
}

// ids runs an FTS5 query. It reads the ids as one text, because reading a row for
// each would cost more than finding them.
func ids(ctx context.Context, db *sql.DB, match string) ([]int64, error) {
	var list sql.NullString
	if err := db.QueryRowContext(ctx, "SELECT group_concat(rowid) FROM terms WHERE terms MATCH ?", match).Scan(&list); err != nil {
		return nil, err
	}
	if list.String == "" {
		return nil, nil
	}
	found := make([]int64, 0, strings.Count(list.String, ",")+1)
	for text := range strings.SplitSeq(list.String, ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		found = append(found, id)
	}
	slices.Sort(found)
	return found, nil
}

// match returns a node as an FTS5 expression that finds every matching file, and
// maybe others. Negated nodes are left out; reading the file decides about them.
func (n *node) match(leaves []leaf) string {
	if n.operator == opLeaf {
		l := &leaves[n.leaf]
		return "(" + l.match("") + " OR " + l.match(string(markPath)) + ")"
	}
	between := " AND "
	if n.operator == opAny {
		between = " OR "
	}
	var parts []string
	for _, each := range n.nodes {
		if each.positive() {
			parts = append(parts, each.match(leaves))
		}
	}
	return "(" + strings.Join(parts, between) + ")"
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
