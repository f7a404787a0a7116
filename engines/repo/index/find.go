package index

import "context"

// Find is Refresh, then Search: what it finds is never older than the call.
// Where nothing has changed it takes no longer than the longer of the two: the
// search goes on beside the look for changes, and again where there are some.
func (ix *Index) Find(ctx context.Context, query Query, progress Progress) ([]Row, Changes, error) {
	before := ix.known()
	early := ix.searchEarly(ctx, query, before)
	changes, err := ix.Refresh(ctx, progress)
	if err == nil && ix.known() == before {
		if found := early.wait(); found.err == nil {
			return found.rows, changes, nil
		}
	} else {
		early.stop()
	}
	if err != nil {
		return nil, changes, err
	}
	rows, err := ix.Search(ctx, query)
	return rows, changes, err
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
	rows []Row
	err  error
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
		e.found <- found{rows, err}
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
