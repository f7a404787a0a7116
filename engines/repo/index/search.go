package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"savant/engines/repo/files"
)

// Row is a place that matches a query.
type Row struct {
	// Path is relative to the folder, with slashes; Line counts from 1.
	Path    string
	Line    int
	Snippet string
	// Score orders the rows of one query; higher is better.
	Score float64
}

// Bounds of a search.
const (
	defaultLimit = 10
	// minExamined and examinedPerRow say how many files are read at first. More are
	// read than are shown, because the index only estimates the order.
	minExamined    = 30
	examinedPerRow = 3
	// maxExamined bounds how many files are read if most of them do not match, as
	// with a phrase of common words.
	maxExamined = 3000
)

// Answer is the result of a query.
type Answer struct {
	Rows    []Row
	Counts  Counts
	Changes Changes
	Unread  Unread
	// Oversize are the files of rules that were not applied, as they are too large.
	Oversize []string
}

// Counts say how rare the words of a query are.
type Counts struct {
	// Files is the number of indexed files.
	Files int
	// Words is how many of them have a word in their text or path, by the word as
	// the query has it.
	Words map[string]int
}

// Find brings the index up to date, as Refresh does, and searches. Rows show the
// present content of their files; a file that is gone or no longer matches has no
// row. Errors are TOOL_FAILED.
func (ix *Index) Find(ctx context.Context, query *ParsedQuery, progress Progress) (Answer, error) {
	changes, err := ix.Refresh(ctx, progress)
	if err != nil {
		return Answer{Changes: changes}, err
	}
	rows, counts, unread, err := ix.search(ctx, query)
	ix.mutex.RLock()
	defer ix.mutex.RUnlock()
	missed := Unread{Files: ix.unseen.Files + ix.catalog.unread + unread, Folders: ix.unseen.Folders}
	return Answer{Rows: rows, Counts: counts, Changes: changes, Unread: missed, Oversize: ix.unseen.oversize}, err
}

// search finds files by the present index and reads the best of them. unread counts
// those that exist and cannot be read. A damaged index is rebuilt, once.
func (ix *Index) search(ctx context.Context, query *ParsedQuery) (rows []Row, counts Counts, unread int, err error) {
	s := &search{ParsedQuery: query, index: ix, seed: maphash.MakeSeed()}
	rows, err = s.run(ctx)
	if isStale(err) && ctx.Err() == nil {
		if err = ix.repair(ctx, s.db); err == nil {
			s = &search{ParsedQuery: query, index: ix, seed: s.seed}
			rows, err = s.run(ctx)
		}
	}
	return rows, s.counts, int(s.unread.Load()), coded(err)
}

// search is one running query.
type search struct {
	*ParsedQuery
	index   *Index
	seed    maphash.Seed // of the sums of texts
	db      *sql.DB      // that was asked
	found   []postings
	weights []float64 // of the leaves; rare leaves weigh more
	average float64   // mean number of words of a file
	counts  Counts
	unread  atomic.Int64
}

func (s *search) run(ctx context.Context) ([]Row, error) {
	ranked, err := s.rank(ctx)
	if err != nil {
		return nil, err
	}
	var findings []finding
	step := max(minExamined, examinedPerRow*s.limit)
	for from := 0; from < min(len(ranked), maxExamined) && len(findings) < s.limit; from += step {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		findings = append(findings, s.examine(ranked[from:min(len(ranked), from+step)])...)
	}
	sortFindings(findings)
	lowerCopies(findings)
	sortFindings(findings)
	rows := make([]Row, 0, s.limit)
	for _, each := range findings[:min(len(findings), s.limit)] {
		rows = append(rows, each.rows...)
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Score, a.Score) })
	return rows[:min(len(rows), s.limit)], nil
}

func sortFindings(findings []finding) {
	slices.SortFunc(findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.file.path, b.file.path))
	})
}

// lowerCopies lowers the scores of files with the same text as a better one, so that the
// copies of a page do not crowd out other files.
func lowerCopies(findings []finding) {
	seen := map[uint64]bool{}
	for i, each := range findings {
		if seen[each.sum] {
			findings[i].score *= copyFactor
			for j := range each.rows {
				each.rows[j].Score *= copyFactor
			}
		}
		seen[each.sum] = true
	}
}

// rank asks the index and returns the files that may match, best first.
func (s *search) rank(ctx context.Context) ([]*file, error) {
	ix := s.index
	ix.mutex.RLock()
	defer ix.mutex.RUnlock()
	if s.db = ix.db; s.db == nil {
		return nil, errStale
	}
	var err error
	if s.found, err = fetchAll(ctx, s.db, s.leaves); err != nil {
		return nil, err
	}
	s.average = ix.catalog.averageWords()
	s.counts = s.count(ix.catalog)
	scores := s.estimate(ix.catalog)
	var fitting []int64
	if s.literal {
		if fitting, err = ids(ctx, s.db, s.root.match(s.leaves)); err != nil {
			return nil, err
		}
	}
	var ranked []scored
	for id, score := range scores {
		if score == 0 || !s.filter.fits(ix.catalog.byID[id].path) {
			continue
		}
		if _, fits := slices.BinarySearch(fitting, int64(id)); fits || !s.literal {
			ranked = append(ranked, scored{ix.catalog.byID[id], score})
		}
	}
	slices.SortFunc(ranked, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.file.path, b.file.path))
	})
	files := make([]*file, len(ranked))
	for i := range ranked {
		files[i] = ranked[i].file
	}
	return files, nil
}

type scored struct {
	file  *file
	score float64
}

// fetchAll fetches all leaves, several at once.
func fetchAll(ctx context.Context, db *sql.DB, leaves []leaf) ([]postings, error) {
	found := make([]postings, len(leaves))
	failed := make([]error, len(leaves))
	files.InParallel(len(leaves), func(i int) { found[i], failed[i] = leaves[i].fetch(ctx, db) })
	return found, errors.Join(failed...)
}

// examine reads files and returns the findings of those that match.
func (s *search) examine(chosen []*file) []finding {
	findings := make([]finding, len(chosen))
	files.InParallel(len(chosen), func(i int) {
		raw, skipped := s.index.read(chosen[i].path)
		switch {
		case skipped == "":
			findings[i] = s.finding(chosen[i], raw)
		case skipped == skippedUnreadable && s.index.has(chosen[i].path):
			s.unread.Add(1)
		}
	})
	return slices.DeleteFunc(findings, func(f finding) bool {
		return f.file == nil || !s.root.holds(f.found)
	})
}
