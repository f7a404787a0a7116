package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/ownfolder"
	"savant/internal/pattern"
	"savant/internal/regular"
)

// Where sessions are, under SAVANT_PATH.
const (
	savantFolder = ".savant"
	folder       = ".savant/sessions"
	latestFile   = ".savant/session.json"
)

const (
	folderPermission = 0o700
	filePermission   = 0o600
)

// Store has the sessions of one SAVANT_PATH. Several goroutines and processes may
// use it at once; a session is open in one place.
type Store struct {
	root *os.Root
	now  func() time.Time
}

// Open returns the sessions under a folder; now is the clock. It writes nothing. The
// caller closes the root.
func Open(root *os.Root, now func() time.Time) *Store { return &Store{root, now} }

var idPattern = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func checkID(id string) error {
	if !idPattern().MatchString(id) {
		return fault.New(fault.InvalidParams, "%q is not a run id: expected up to 64 letters, digits, _ and -", fault.Cut(id, 100))
	}
	return nil
}

func unknown(id string) error {
	return fault.New(fault.UnknownRun, "there is no run %s", id).Hinted(fault.Hint{Call: "agent.list", Text: "shows the runs there are"})
}

func journalName(id string) string  { return folder + "/" + id + ".journal" }
func snapshotName(id string) string { return folder + "/" + id + ".json" }
func cancelName(id string) string   { return folder + "/" + id + ".cancel" }
func outputFolder(id string) string { return folder + "/" + id + ".outputs" }

// Create begins a session. The errors are ID_COLLISION for an id that exists, and
// STATE_NOT_SAVED.
func (s *Store) Create(id string) (*Session, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	for _, each := range []string{savantFolder, folder} {
		if err := s.makeFolder(each); err != nil {
			return nil, ownfolder.NotSaved(each, err)
		}
	}
	file, err := s.root.OpenFile(journalName(id), os.O_CREATE|os.O_EXCL|os.O_RDWR, filePermission)
	if errors.Is(err, fs.ErrExist) {
		return nil, fault.New(fault.IDCollision, "there is a run %s already", id)
	}
	if err == nil {
		err = s.syncFolder(folder)
	}
	if err != nil {
		return nil, ownfolder.NotSaved(journalName(id), err)
	}
	return s.own(id, file)
}

// Resume opens an existing session to go on with it, and returns its records. The
// errors are UNKNOWN_RUN, STATE_CONFLICT if the session is open, in this or another
// process, and STATE_CORRUPT.
func (s *Store) Resume(id string) (*Session, []Record, error) {
	file, err := s.openJournal(id, os.O_RDWR)
	if err != nil {
		return nil, nil, err
	}
	session, err := s.own(id, file)
	if err != nil {
		return nil, nil, err
	}
	records, err := session.recover()
	if err != nil {
		return nil, nil, errors.Join(err, session.Close())
	}
	return session, records, nil
}

// own takes the lock of a journal; on failure the file is closed.
func (s *Store) own(id string, file *os.File) (*Session, error) {
	if !locked(file) {
		_ = file.Close() // nothing was written
		return nil, fault.New(fault.StateConflict, "run %s is going on already", id)
	}
	return &Session{store: s, id: id, journal: file}, nil
}

// locked takes the lock of a journal, which lasts until the file is closed. It
// waits a moment, since Running holds the lock while it asks.
func locked(file *os.File) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	return filelock.Wait(ctx, func() (bool, error) { return filelock.TryLock(file, true) }) == nil
}

const lockPatience = 100 * time.Millisecond

func (s *Store) openJournal(id string, flags int) (*os.File, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	file, err := regular.Open(s.root, journalName(id), flags, filePermission)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknown(id)
	}
	if err != nil {
		return nil, ownfolder.NotRead(journalName(id), err)
	}
	return file, nil
}

// Records returns the records of a session's journal, whoever writes it. The errors
// are those of Resume, without STATE_CONFLICT.
func (s *Store) Records(id string) ([]Record, error) {
	data, err := s.read(id, journalName(id))
	if err != nil {
		return nil, err
	}
	records, _, _, err := readJournal(id, bytes.NewReader(data), int64(len(data)))
	return records, err
}

// read returns a file of a session. A file that does not exist is UNKNOWN_RUN.
func (s *Store) read(id, name string) ([]byte, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	data, err := regular.ReadFile(s.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknown(id)
	}
	if err != nil {
		return nil, ownfolder.NotRead(name, err)
	}
	return data, nil
}

// Load returns the snapshot of a session: UNKNOWN_RUN before the first.
func (s *Store) Load(id string) (Snapshot, error) {
	data, err := s.read(id, snapshotName(id))
	if err != nil {
		return Snapshot{}, err
	}
	var snapshot Snapshot
	if err := json.Unmarshal(data, &snapshot); err != nil {
		return Snapshot{}, fault.New(fault.StateCorrupt, "%s: %w; remove it: the journal beside it has the run", snapshotName(id), err)
	}
	return snapshot, nil
}

// Running says whether a session is open, here or in another process.
func (s *Store) Running(id string) bool {
	file, err := s.openJournal(id, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // only read
	free, err := filelock.TryLock(file, false)
	return err == nil && !free
}

// List returns the snapshots of all sessions, the last changed first. It leaves out
// a snapshot that cannot be read.
func (s *Store) List(ctx context.Context) ([]Snapshot, error) {
	entries, err := regular.ReadDir(s.root, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ownfolder.NotRead(folder, err)
	}
	var list []Snapshot
	for _, entry := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		id, isSnapshot := strings.CutSuffix(entry.Name(), ".json")
		if !isSnapshot || checkID(id) != nil {
			continue
		}
		if each, err := s.Load(id); err == nil {
			list = append(list, each)
		}
	}
	slices.SortFunc(list, func(a, b Snapshot) int {
		return cmp.Or(cmp.Compare(b.Updated, a.Updated), cmp.Compare(b.SessionID, a.SessionID))
	})
	return list, nil
}

// Cancel asks the process that drives a session to end it. An unknown session is
// UNKNOWN_RUN.
func (s *Store) Cancel(id string) error {
	file, err := s.openJournal(id, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	request, err := regular.Open(s.root, cancelName(id), os.O_CREATE|os.O_WRONLY, filePermission)
	if err != nil {
		return ownfolder.NotSaved(cancelName(id), err)
	}
	return request.Close()
}

// Canceled says whether a session has been asked to end.
func (s *Store) Canceled(id string) bool {
	_, err := s.root.Stat(cancelName(id))
	return err == nil
}

// writeSnapshot replaces a session's snapshot, and that of the latest session.
func (s *Store) writeSnapshot(id string, data []byte) error {
	target := atomicfile.Root(s.root)
	for _, name := range []string{snapshotName(id), latestFile} {
		if err := atomicfile.Replace(target, name, data, filePermission, atomicfile.Lazy); err != nil {
			return ownfolder.NotSaved(name, err)
		}
	}
	return nil
}

func (s *Store) makeFolder(name string) error {
	err := ownfolder.Mkdir(s.root, name, folderPermission)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.syncFolder(path.Dir(name))
}

func (s *Store) syncFolder(name string) error { return atomicfile.Root(s.root).SyncFolder(name) }
