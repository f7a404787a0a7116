package app

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/internal/ownfolder"
	"savant/internal/settings"
	"savant/think/state"
	"savant/think/state/mongostate"
)

// openStore opens the configured store of runs.
func (a *App) openStore() (state.Backend, error) {
	store, err := a.OpenStore(a.settings.Store)
	if err == nil && a.settings.Store == settings.StoreMongo {
		a.drivers = jobs.New(a.database.Collection(driversCollection))
	}
	return store, err
}

// OpenStore opens the runs of the folder or of the database, regardless of the
// settings. The database is closed with the program.
func (a *App) OpenStore(where string) (state.Backend, error) {
	if where != settings.StoreMongo {
		return state.Open(a.Path, state.Options{})
	}
	database, err := a.openDatabase()
	if err != nil {
		return nil, err
	}
	return mongostate.Open(database, mongostate.Options{})
}

// TryState tries to write where the runs of a folder are kept, and names that place.
func (a *App) TryState() (folder string, err error) {
	folder = path.Join(ownfolder.State, "state")
	for _, above := range []string{ownfolder.State, "."} {
		if _, err := a.Root.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			folder = above
		}
	}
	name := path.Join(folder, ".tried.tmp")
	err = atomicfile.Replace(atomicfile.Root(a.Root), name, make([]byte, 4<<10), 0o600, atomicfile.Lazy) // a full disk takes an empty file
	_ = a.Root.Remove(name)                                                                              // which fails where the file could not be made
	return folder, err
}

// openDatabase returns the connection to the database, connecting once.
func (a *App) openDatabase() (*mongo.Database, error) {
	if a.database != nil {
		return a.database, nil
	}
	at := a.settings.Mongo
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: at.URI, Host: at.Host, Environment: at.Environment}})
	if err != nil {
		return nil, Misconfigured(fault.New(fault.InvalidParams, "%w", err))
	}
	a.database = database
	return database, nil
}

// closeStore closes the store and the database.
func (a *App) closeStore(ctx context.Context) error {
	err := a.Store.Close()
	if a.database != nil {
		err = errors.Join(err, a.database.Close(context.WithoutCancel(ctx)))
	}
	return err
}
