package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/ownfolder"
	"savant/internal/pattern"
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

// Store is the sessions of one SAVANT_PATH. It may be used by several
// goroutines and several processes at once; a session is open in one place.
type Store struct {
	root *os.Root
	now  func() time.Time
}

// Open returns the sessions under a folder; now is the clock. Nothing is
// written yet. The root stays the caller's.
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

// Create begins a session. An id that is taken is ID_COLLISION; what cannot be
// written STATE_NOT_SAVED.
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

// Resume opens a session that exists, for going on, and returns its records.
// No such session is UNKNOWN_RUN; one that is open elsewhere, here or in
// another process, STATE_CONFLICT; a damaged one STATE_CORRUPT.
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
	file, err := s.root.OpenFile(journalName(id), flags, filePermission)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknown(id)
	}
	if err != nil {
		return nil, ownfolder.NotRead(journalName(id), err)
	}
	return file, nil
}

// Records returns what a session's journal holds, whoever writes it. The
// errors are those of Resume, without STATE_CONFLICT.
func (s *Store) Records(id string) ([]Record, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	data, err := s.root.ReadFile(journalName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknown(id)
	}
	if err != nil {
		return nil, ownfolder.NotRead(journalName(id), err)
	}
	records, _, _, err := readJournal(id, bytes.NewReader(data), int64(len(data)))
	return records, err
}

// Load returns the snapshot of a session. It is UNKNOWN_RUN before the first.
func (s *Store) Load(id string) (Snapshot, error) {
	if err := checkID(id); err != nil {
		return Snapshot{}, err
	}
	data, err := s.root.ReadFile(snapshotName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return Snapshot{}, unknown(id)
	}
	if err != nil {
		return Snapshot{}, ownfolder.NotRead(snapshotName(id), err)
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

// List returns the snapshots of all sessions, the last changed first. A
// snapshot that cannot be read is left out: its journal may still be.
func (s *Store) List(ctx context.Context) ([]Snapshot, error) {
	opened, err := s.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ownfolder.NotRead(folder, err)
	}
	defer func() { _ = opened.Close() }() // only read
	names, err := opened.Readdirnames(-1)
	if err != nil {
		return nil, ownfolder.NotRead(folder, err)
	}
	var list []Snapshot
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		id, isSnapshot := strings.CutSuffix(name, ".json")
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

// Cancel asks whoever runs a session, in whatever process, to end it. No such
// session is UNKNOWN_RUN.
func (s *Store) Cancel(id string) error {
	file, err := s.openJournal(id, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	wish, err := s.root.OpenFile(cancelName(id), os.O_CREATE|os.O_WRONLY, filePermission)
	if err != nil {
		return ownfolder.NotSaved(cancelName(id), err)
	}
	return wish.Close()
}

// Canceled says whether somebody asked for a session to end.
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
	parent, _, _ := strings.Cut(name, "/")
	if parent == name {
		parent = "."
	}
	return s.syncFolder(parent)
}

func (s *Store) syncFolder(name string) error {
	opened, err := s.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
