package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/journal"
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

// inFolder is sessions in the folder of one SAVANT_PATH. Several processes may use it
// at once; a session is open in one place.
type inFolder struct{ root *os.Root }

func journalName(id string) string  { return folder + "/" + id + ".journal" }
func snapshotName(id string) string { return folder + "/" + id + ".json" }
func cancelName(id string) string   { return folder + "/" + id + ".cancel" }
func outputFolder(id string) string { return folder + "/" + id + ".outputs" }

func (f inFolder) Create(id string) (Journal, error) {
	for _, each := range []string{savantFolder, folder} {
		if err := f.makeFolder(each); err != nil {
			return nil, ownfolder.NotSaved(each, err)
		}
	}
	file, err := f.root.OpenFile(journalName(id), os.O_CREATE|os.O_EXCL|os.O_RDWR, filePermission)
	if errors.Is(err, fs.ErrExist) {
		return nil, Collision(id)
	}
	if err == nil {
		err = f.syncFolder(folder)
	}
	if err != nil {
		return nil, ownfolder.NotSaved(journalName(id), err)
	}
	return f.own(id, file)
}

func (f inFolder) Resume(id string) (Journal, []Record, error) {
	file, err := f.openJournal(id, os.O_RDWR)
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.own(id, file)
	if err != nil {
		return nil, nil, err
	}
	records, err := opened.recover()
	if err != nil {
		return nil, nil, errors.Join(err, opened.Close())
	}
	return opened, records, nil
}

// Adopt does not make the copy the latest session.
func (f inFolder) Adopt(id string) (Journal, []Record, error) {
	if _, err := f.root.Stat(journalName(id)); errors.Is(err, fs.ErrNotExist) {
		created, err := f.Create(id)
		if err != nil {
			return nil, nil, err
		}
		created.(*journalFile).adopted = true
		return created, nil, nil
	}
	opened, records, err := f.Resume(id)
	if err == nil {
		opened.(*journalFile).adopted = true
	}
	return opened, records, err
}

// Remove removes the snapshot last, so that a failed removal stays listed and can be
// repeated.
func (f inFolder) Remove(_ context.Context, id string) error {
	file, err := f.openJournal(id, os.O_RDWR)
	if err == nil {
		defer func() { _ = file.Close() }() // it holds the lock
		if !locked(file) {
			return Conflict(id)
		}
	} else if !errors.Is(err, fault.UnknownRun) {
		return err
	}
	if err := f.root.RemoveAll(outputFolder(id)); err != nil {
		return ownfolder.NotSaved(outputFolder(id), err)
	}
	for _, name := range []string{cancelName(id), journalName(id), snapshotName(id)} {
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ownfolder.NotSaved(name, err)
		}
	}
	return nil
}

// Outputs returns the names of the files in the session's folder of outputs.
func (f inFolder) Outputs(_ context.Context, id string) (digests []string, err error) {
	entries, err := regular.ReadDir(f.root, outputFolder(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, ownfolder.NotRead(outputFolder(id), err)
	}
	for _, each := range entries {
		if each.Type().IsRegular() && digestPattern().MatchString(each.Name()) {
			digests = append(digests, each.Name())
		}
	}
	return digests, nil
}

var digestPattern = pattern.Lazy(`^[0-9a-f]{64}$`)

// Output reads an output from its file.
func (f inFolder) Output(id, digest string) ([]byte, error) {
	return f.read(id, outputFolder(id)+"/"+digest, maxWhole)
}

// own takes the lock of a journal; on failure the file is closed.
func (f inFolder) own(id string, file *os.File) (*journalFile, error) {
	if !locked(file) {
		_ = file.Close() // nothing was written
		return nil, Conflict(id)
	}
	return &journalFile{folder: f, id: id, file: file}, nil
}

// locked takes the lock of a journal until the file is closed. It retries briefly,
// because DriverStatus takes the lock for a moment.
func locked(file *os.File) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	return filelock.Wait(ctx, func() (bool, error) { return filelock.TryLock(file, true) }) == nil
}

const lockPatience = 100 * time.Millisecond

func (f inFolder) openJournal(id string, flags int) (*os.File, error) {
	file, err := regular.Open(f.root, journalName(id), flags, filePermission)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Unknown(id)
	}
	if err != nil {
		return nil, ownfolder.NotRead(journalName(id), err)
	}
	return file, nil
}

func (f inFolder) Records(id string) ([]Record, error) { return f.records(id, "") }

// records returns the records whose line has a text.
func (f inFolder) records(id, text string) ([]Record, error) {
	data, err := f.read(id, journalName(id), maxJournal)
	if err != nil {
		return nil, err
	}
	records, _, _, err := readJournal(id, bytes.NewReader(data), int64(len(data)), text)
	return records, err
}

// The bounds of a session's files, in bytes: a folder may bring one.
const (
	// maxJournal is for 2,000 calls of the largest kind, about 32 KB: thirty steps of the most
	// calls that a step may have.
	maxJournal = 64 << 20
	// maxSnapshot is far above Budget.
	maxSnapshot = 1 << 20
	// maxWhole is for one result: larger ones are artifacts.
	maxWhole = 4 << 20
)

// read returns a file of a session. A file that does not exist is UNKNOWN_RUN.
func (f inFolder) read(id, name string, limit int64) ([]byte, error) {
	data, err := regular.ReadFile(f.root, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Unknown(id)
	}
	if err != nil {
		return nil, ownfolder.NotRead(name, err)
	}
	return data, nil
}

func (f inFolder) Snapshot(id string) ([]byte, error) {
	return f.read(id, snapshotName(id), maxSnapshot)
}

// Snapshots lists the snapshots. A snapshot that is too large has its error; other files are
// skipped.
func (f inFolder) Snapshots(ctx context.Context) ([]Snapshot, error) {
	entries, err := regular.ReadDir(f.root, folder)
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
		var each Snapshot
		data, err := f.Snapshot(id)
		if errors.Is(err, regular.ErrTooLarge) {
			each.SessionID, each.Unread = id, fault.From(err).Details
		} else if err != nil || json.Unmarshal(data, &each) != nil {
			continue
		}
		each.Steps = nil // there may be many sessions
		list = append(list, each)
	}
	return list, nil
}

func (f inFolder) DriverStatus(id string) (DriverStatus, error) {
	file, err := f.openJournal(id, os.O_RDONLY)
	if err != nil {
		return DriverStatus{}, err
	}
	defer func() { _ = file.Close() }() // only read
	free, err := filelock.TryLock(file, false)
	return DriverStatus{Open: err == nil && !free}, nil
}

func (f inFolder) Cancel(id string) error {
	file, err := f.openJournal(id, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	request, err := regular.Open(f.root, cancelName(id), os.O_CREATE|os.O_WRONLY, filePermission)
	if err != nil {
		return ownfolder.NotSaved(cancelName(id), err)
	}
	return request.Close()
}

func (f inFolder) Canceled(id string) bool {
	_, err := f.root.Stat(cancelName(id))
	return err == nil
}

// CancelPause is short, because checking for a file is cheap.
func (f inFolder) CancelPause() time.Duration { return 25 * time.Millisecond }

func (f inFolder) Shared() bool { return false }

// uncancel removes a request to cancel a session.
func (f inFolder) uncancel(id string) error {
	if err := f.root.Remove(cancelName(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ownfolder.NotSaved(cancelName(id), err)
	}
	return nil
}

func (f inFolder) makeFolder(name string) error {
	err := ownfolder.Mkdir(f.root, name, folderPermission)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.syncFolder(path.Dir(name))
}

func (f inFolder) syncFolder(name string) error { return atomicfile.Root(f.root).SyncFolder(name) }

// journalFile is the open journal of a session.
type journalFile struct {
	folder inFolder
	id     string
	file   *os.File
	end    int64 // where the records end, in bytes
	// adopted: the session is a copy, so it does not become the latest.
	adopted bool
}

// recover reads the journal and truncates a torn write at its end.
func (j *journalFile) recover() ([]Record, error) {
	info, err := j.file.Stat()
	if err != nil {
		return nil, ownfolder.NotRead(journalName(j.id), err)
	}
	if info.Size() > maxJournal {
		return nil, ownfolder.NotRead(journalName(j.id), regular.ErrTooLarge)
	}
	records, last, end, err := readJournal(j.id, j.file, info.Size(), "")
	if err != nil {
		return nil, err
	}
	if end < info.Size() {
		if err := journal.Recover(j.file, last, end, info.Size()); err != nil {
			return nil, ownfolder.NotSaved(journalName(j.id), err)
		}
	}
	j.end = end
	return records, j.folder.uncancel(j.id)
}

func (j *journalFile) Append(record Record, durability Durability) error {
	line, err := record.Line()
	if err == nil && j.end+int64(len(line)) >= maxJournal {
		err = fmt.Errorf("the journal of a run has at most %d bytes, or it could not be read again; start a new run", maxJournal)
	}
	if err == nil {
		line = append(line, '\n')
		err = journal.Append(j.file, j.end, line, durability == Durable)
	}
	if err != nil {
		return ownfolder.NotSaved(journalName(j.id), err)
	}
	j.end += int64(len(line))
	return nil
}

// Away is false: errors of a local folder are not temporary.
func (j *journalFile) Away(error) bool { return false }

// WriteSnapshot replaces the session's snapshot, and that of the latest session.
func (j *journalFile) WriteSnapshot(_ Snapshot, data []byte) error {
	target, names := atomicfile.Root(j.folder.root), []string{snapshotName(j.id), latestFile}
	if j.adopted {
		names = names[:1]
	}
	for _, name := range names {
		if err := atomicfile.Replace(target, name, data, filePermission, atomicfile.Lazy); err != nil {
			return ownfolder.NotSaved(name, err)
		}
	}
	return nil
}

func (j *journalFile) SaveOutput(digest string, output []byte, durability Durability) (string, error) {
	root, name := j.folder.root, outputFolder(j.id)+"/"+digest
	if _, err := root.Stat(name); err == nil {
		return name, nil
	}
	if err := root.Mkdir(outputFolder(j.id), folderPermission); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", ownfolder.NotSaved(name, err)
	}
	how := atomicfile.Lazy
	if durability == Durable {
		how = atomicfile.Durable
	}
	if err := atomicfile.Replace(atomicfile.Root(root), name, output, filePermission, how); err != nil {
		return "", ownfolder.NotSaved(name, err)
	}
	return name, nil
}

func (j *journalFile) Output(where string) ([]byte, error) {
	return j.folder.Output(j.id, path.Base(where))
}

// Close releases the session and removes a request to cancel it.
func (j *journalFile) Close() error { return errors.Join(j.folder.uncancel(j.id), j.file.Close()) }
