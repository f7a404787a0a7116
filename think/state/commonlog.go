package state

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path"
	"strings"

	"savant/fault"
)

// commonLog is a file of records of several runs, each a line: the name of the
// run, a space, and the line of its journal. Its owner has it locked.
type commonLog struct {
	disk disk
	name string
	file file
	size int64
	// runs are those that have records in it.
	runs map[Key]bool
}

// newCommonLog makes an empty log, its name durable. It has its name only once
// it is locked, so that nobody takes it for what a dead process left.
func newCommonLog(d *Dir) (*commonLog, error) {
	if err := d.ensureFolder(logFolder); err != nil {
		return nil, err
	}
	label := rand.Text()[:10]
	temporary := path.Join(logFolder, "."+label+temporarySuffix)
	opened, err := d.disk.Open(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, notSaved(temporary, err)
	}
	l := &commonLog{disk: d.disk, name: path.Join(logFolder, label+logSuffix), file: opened, runs: map[Key]bool{}}
	locked, err := opened.TryLock(true)
	if err == nil && locked {
		err = d.disk.Rename(temporary, l.name)
	}
	if err == nil && locked {
		err = d.disk.SyncFolder(logFolder)
	}
	if err == nil && !locked {
		err = errNotOurs
	}
	if err != nil {
		l.close()
		_ = d.disk.Remove(temporary) // where it still has that name
		return nil, notSaved(l.name, err)
	}
	return l, nil
}

// errNotOurs cannot happen to a file that nobody knows of yet.
var errNotOurs = errors.New("somebody else has it")

// add writes the records of all and waits until the disk has them.
func (l *commonLog) add(together []*waiter) error {
	var lines bytes.Buffer
	for _, w := range together {
		lines.WriteString(w.key.String())
		lines.WriteByte(' ')
		lines.Write(w.line)
	}
	if _, err := l.file.WriteAt(lines.Bytes(), l.size); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.size += int64(lines.Len())
	for _, w := range together {
		l.runs[w.key] = true
	}
	return nil
}

// takeBack cuts off what a failed add left: its records are not acknowledged,
// and others may come in their place.
func (l *commonLog) takeBack() error {
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	return l.file.Sync()
}

func (l *commonLog) close() { _ = l.file.Close() }

// remove is durable: of a log that came back nothing would be new, but a run
// may have been repaired meanwhile.
func (l *commonLog) remove() error {
	if err := l.disk.Remove(l.name); err != nil {
		return err
	}
	return l.disk.SyncFolder(logFolder)
}

// loggedRecord is a record that a log has.
type loggedRecord struct {
	key     Key
	version int
	line    []byte
}

// readLog returns the records of a log up to the first that is not whole: what
// follows was never acknowledged.
func readLog(data []byte) []loggedRecord {
	var found []loggedRecord
	for text := range bytes.Lines(data) {
		name, line, _ := bytes.Cut(text, []byte(" "))
		workflow, run, _ := strings.Cut(string(name), "/")
		key := Key{workflow, run}
		record, whole := bytes.CutSuffix(line, []byte("\n"))
		body, hash, ok := split(record)
		if !whole || !ok || digestOf(body, "}") != hash || key.Validate() != nil {
			return found
		}
		found = append(found, loggedRecord{key, headOf(record).Version, line})
	}
	return found
}

// syncJournal makes durable what was written to a journal. One that is gone was
// synced before it went.
func (d *Dir) syncJournal(key Key) error {
	opened, err := d.disk.Open(journalName(key), os.O_RDONLY)
	if missing(err) {
		return nil
	}
	if err != nil {
		return notSaved(journalName(key), err)
	}
	defer func() { _ = opened.Close() }() // only synced
	if err := opened.Sync(); err != nil {
		return notSaved(journalName(key), err)
	}
	return nil
}

// errOfLog is what a run is told whose records a log may still have.
func errOfLog(err error) error {
	return fault.New(fault.From(err).Code, "what a process that ended left in %s is not yet in the journals: %s", logFolder, fault.From(err).Details)
}
