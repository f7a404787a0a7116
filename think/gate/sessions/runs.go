package sessions

import (
	"context"
	"errors"
	"slices"
	"time"

	"savant/think"
	"savant/think/gate"
	"savant/think/library"
	"savant/think/state"
)

// Shared is a database of runs, such as mongostate.Store. Its methods are those of
// state.Journal, and two that tell the server, on whatever machine, what hooks were asked.
type Shared interface {
	Append(ctx context.Context, key state.Key, record state.Record) (state.Record, error)
	Records(ctx context.Context, key state.Key, after, limit int) ([]state.Record, error)
	List(ctx context.Context, filter state.Filter) ([]state.Info, error)
	// Announce notes that a hook was asked about a call, which is named by a digest.
	// Announced reports whether one was within a time; each announcement counts once.
	Announce(ctx context.Context, call string) error
	Announced(ctx context.Context, call string, within time.Duration) (bool, error)
}

// Project is what the settings of a folder say of its runs, and the server of its tools.
type Project interface {
	// Shared returns the database that has the runs, or nil if the folder has them. It is
	// called once, when a run is looked up first.
	Shared() (Shared, error)
	// Described returns the server's own tools. It is called for an event that would be
	// refused without them.
	Described() ([]gate.Tool, error)
}

// Folder is a Project whose runs are in the folder. Of tools it knows those that move a
// run on.
type Folder struct{}

// Shared implements Project.
func (Folder) Shared() (Shared, error) { return nil, nil }

// Described implements Project.
func (Folder) Described() ([]gate.Tool, error) { return nil, nil }

// find returns the runs of an id, in every workflow.
func (g *Gate) find(ctx context.Context, run string) ([]state.Key, error) {
	shared, err := g.shared()
	switch {
	case err != nil:
		return nil, err
	case shared == nil:
		return g.reader.Find(run)
	}
	infos, err := shared.List(ctx, state.Filter{Run: run})
	keys := make([]state.Key, len(infos))
	for i, each := range infos {
		keys[i] = each.Key()
	}
	return keys, err
}

// after returns the records of a run after a mark, as state.Reader.After does.
func (g *Gate) after(ctx context.Context, key state.Key, mark state.Mark) (records []state.Record, last state.Mark, whole bool, err error) {
	shared, err := g.shared()
	switch {
	case err != nil:
		return nil, mark, false, err
	case shared == nil:
		return g.reader.After(key, mark)
	}
	records, err = shared.Records(ctx, key, max(mark.Version-1, 0), 0)
	if err != nil {
		return nil, mark, false, err
	}
	switch {
	case mark.Version == 0:
	case len(records) > 0 && records[0].Version == mark.Version && records[0].Hash == mark.Hash:
		records = records[1:]
	default: // the run was repaired, or is another one of its name
		mark = state.Mark{}
		if records, err = shared.Records(ctx, key, 0, 0); err != nil {
			return nil, mark, false, err
		}
	}
	whole, last = mark.Version == 0, mark
	if len(records) > 0 {
		newest := records[len(records)-1]
		last = state.Mark{Version: newest.Version, Hash: newest.Hash, State: newest.State}
	}
	return records, last, whole, nil
}

// write appends a record to a run.
func (g *Gate) write(ctx context.Context, key state.Key, record state.Record) error {
	shared, err := g.shared()
	if err != nil {
		return err
	}
	if shared != nil {
		_, err := shared.Append(ctx, key, record)
		return err
	}
	store, err := state.Open(g.path, state.Options{Now: g.now})
	if err != nil {
		return err
	}
	_, err = store.Append(ctx, key, record)
	return errors.Join(err, store.Close())
}

// Rulings returns the workflows with rules that the open runs of a session follow. reader
// reads their rules.
func (g *Gate) Rulings(ctx context.Context, client, session string, reader think.Rules) (list []think.Ruling, err error) {
	s, err := g.load(g.fileOf(client, session))
	if err != nil || s == nil {
		return nil, err
	}
	ruled := slices.DeleteFunc(s.Pairs, func(each *pair) bool { return !each.Run.Ruled })
	if len(ruled) == 0 {
		return nil, nil
	}
	shared, err := g.shared()
	if err != nil {
		return nil, err
	}
	store, _ := shared.(state.Storage) // a database is one
	if shared == nil {
		folder, err := state.Open(g.path, state.Options{Now: g.now})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, folder.Close()) }()
		store = folder
	}
	engine := think.New(think.Options{Library: library.New(), Store: store, Now: g.now, Rules: reader})
	defer engine.Close()
	for _, each := range ruled {
		found, err := engine.Rulings(ctx, each.key())
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}
