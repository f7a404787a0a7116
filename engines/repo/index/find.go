package index

import "context"

// Answer is what a query finds.
type Answer struct {
	Rows    []Row
	Changes Changes
	Unread  Unread
}

// Find is Refresh, then Search: what it finds is never older than the call.
// Where nothing has changed it takes no longer than the longer of the two: the
// search goes on beside the look for changes, and again where there are some.
func (ix *Index) Find(ctx context.Context, query Query, progress Progress) (Answer, error) {
	before := ix.known()
	early := ix.searchEarly(ctx, query, before)
	changes, err := ix.Refresh(ctx, progress)
	if err == nil && ix.known() == before {
		if found := early.wait(); found.err == nil {
			return ix.answer(found.rows, changes, found.unread), nil
		}
	} else {
		early.stop()
	}
	if err != nil {
		return Answer{Changes: changes}, err
	}
	rows, unread, err := ix.search(ctx, query)
	return ix.answer(rows, changes, unread), err
}

// answer adds to what the refresh could not read what the search could not.
func (ix *Index) answer(rows []Row, changes Changes, unread int) Answer {
	missed := ix.Unread()
	missed.Files += unread
	return Answer{Rows: rows, Changes: changes, Unread: missed}
}

// known returns the catalog as it is now.
func (ix *Index) known() *catalog {
	ix.mutex.RLock()
	defer ix.mutex.RUnlock()
	return ix.catalog
}

// early is a search that goes on while changes are looked for.
type early struct {
	cancel context.CancelFunc
	found  chan found
}

type found struct {
	rows   []Row
	unread int
	err    error
}

// searchEarly begins a search. Where nothing is indexed yet, or it fails, the
// answer is an error, which says no more than that a search has to follow.
func (ix *Index) searchEarly(ctx context.Context, query Query, in *catalog) early {
	ctx, cancel := context.WithCancel(ctx)
	e := early{cancel, make(chan found, 1)}
	if in.indexed == 0 {
		e.found <- found{err: errStale}
		return e
	}
	go func() {
		s, err := newSearch(ix, query)
		if err != nil {
			e.found <- found{err: err}
			return
		}
		rows, err := s.run(ctx)
		e.found <- found{rows, int(s.unread.Load()), err}
	}()
	return e
}

func (e early) wait() found {
	defer e.cancel()
	return <-e.found
}

// stop waits for the end of a search whose answer nobody needs.
func (e early) stop() {
	e.cancel()
	<-e.found
}
