package state

import (
	"context"
	"errors"
	"os"
	"slices"

	"savant/fault"
	"savant/internal/filelock"
	"savant/internal/journal"
)

// runJournal is this process's view of one run's journal. Between steps the file stays
// open and its end is cached, so a step reads nothing: a stat detects writes of other
// processes.
type runJournal struct {
	key  Key
	name string
	disk disk
	// turn is a semaphore of one token that guards the following fields.
	turn chan struct{}
	// users counts the holders and waiters of the journal, used orders journals by last
	// use; the Dir guards both.
	users, used int
	file        file // nil while closed
	head        file // see noteHead; nil until a record is written
	home        string
	here        bool // the records up to now were written or marked here: see markOrigin
	opened      identity
	writable    bool
	verified    verified
	// lines are the last of the verified records, if the holder of the journal
	// is replaying and verified them itself.
	lines [][]byte
}

// verified is the content of a journal, and the file as it was then.
type verified struct {
	chain
	file stat
	// durable says that this process made the last record durable itself.
	durable bool
	// unsynced says that a sync failed and its record could not be truncated. The journal
	// must be recovered before it is read again.
	unsynced bool
}

func newJournal(target disk, key Key) *runJournal {
	j := &runJournal{key: key, name: journalName(key), disk: target, turn: make(chan struct{}, 1)}
	j.turn <- struct{}{}
	return j
}

// mode is the purpose of holding a journal.
type mode int

const (
	reading   mode = iota
	replaying      // as reading, and keeps the lines that it verifies
	writing
	creating // as writing, and the file need not exist
	moving   // as writing, whatever the file holds: nothing is read
)

func (m mode) reads() bool { return m == reading || m == replaying }

func (m mode) flags() int {
	switch m {
	case reading, replaying:
		return os.O_RDONLY
	case creating:
		return os.O_RDWR | os.O_CREATE
	default:
		return os.O_RDWR
	}
}

// hold opens the run's file, locks it against other processes and, except for moving,
// verifies new records. The caller has the turn, and calls release.
func (j *runJournal) hold(ctx context.Context, wanted mode) (release func(), err error) {
	if j.verified.unsynced && wanted.reads() {
		wanted = writing
	}
	for {
		if err := j.open(wanted); err != nil {
			return nil, err
		}
		now, err := j.lock(ctx, wanted)
		if err == nil && now.identity == j.opened {
			if err = j.refresh(wanted, now); err == nil {
				return j.release, nil
			}
		}
		j.close() // and with it the lock
		if err != nil && !missing(err) {
			return nil, err
		}
		// It was deleted or replaced since it was opened.
	}
}

// lock waits for the lock of the file, and then looks which file has its name.
func (j *runJournal) lock(ctx context.Context, wanted mode) (stat, error) {
	err := filelock.Acquire(ctx, j.name, func() (bool, error) { return j.file.TryLock(!wanted.reads()) })
	if err != nil && ctx.Err() != nil {
		return stat{}, interrupted(ctx, j.name)
	}
	if errors.Is(err, fault.StateConflict) {
		return stat{}, err
	}
	if err != nil {
		return stat{}, notSaved(j.name, err)
	}
	now, err := j.disk.Stat(j.name)
	if err != nil && !missing(err) {
		err = notRead(j.name, err)
	}
	return now, err
}

func (j *runJournal) open(wanted mode) error {
	if j.file != nil && (j.writable || wanted.reads()) {
		return nil
	}
	j.close()
	opened, info, err := openFile(j.disk, j.name, wanted.flags())
	switch {
	case err == nil:
		j.file, j.opened, j.writable = opened, info.identity, !wanted.reads()
		return nil
	case missing(err) && wanted != creating:
		j.verified = verified{}
		return unknownRun(j.key)
	case wanted.reads():
		return notRead(j.name, err)
	default:
		return notSaved(j.name, err)
	}
}

func (j *runJournal) release() {
	j.lines = nil
	if j.file != nil && j.file.Unlock() != nil {
		j.close() // which unlocks
	}
}

// close closes the file. Nothing unsaved is in it, so its error is of no
// consequence.
func (j *runJournal) close() {
	if j.file != nil {
		_ = j.file.Close()
		j.file = nil
	}
	if j.head != nil {
		_ = j.head.Close()
		j.head = nil
	}
}

// closeAndInvalidate closes the file, which is moved or replaced, and what is known of it.
func (j *runJournal) closeAndInvalidate() {
	j.close()
	j.verified = verified{}
}

func interrupted(ctx context.Context, name string) error {
	return fault.New(fault.Internal, "gave up waiting for %s: %w", name, context.Cause(ctx))
}

// refresh verifies the new records of the file and makes them durable: another process
// may have been killed between write and sync, and every record read must survive a
// crash. The caller has the lock.
func (j *runJournal) refresh(wanted mode, now stat) error {
	if wanted == moving {
		return nil
	}
	fresh := len(j.verified.chain) > 0 && j.verified.end() == now.size && j.verified.file.equals(now)
	if !fresh {
		if err := j.catchUp(now, wanted == replaying); err != nil {
			return err
		}
	}
	if !wanted.reads() {
		return j.makeDurable()
	}
	if fresh || now.size == 0 {
		return nil
	}
	if err := j.file.Sync(); err != nil {
		return j.syncFailed(err)
	}
	return nil
}

// syncFailed forgets what is known of a file that could not be synced.
func (j *runJournal) syncFailed(err error) error {
	j.verified = verified{unsynced: true}
	return notSaved(j.name, err)
}

// catchUp verifies the file up to its end. It keeps the lines if keep is set.
func (j *runJournal) catchUp(now stat, keep bool) error {
	known := j.verified.file.identity == now.identity
	from := chain{}
	if known && now.size > j.verified.file.size {
		from = j.verified.chain // the file only grew: the prefix stays verified
	}
	s := scanner{name: j.name, key: j.key, file: j.file, size: now.size}
	if j.lines = nil; keep {
		s.visit = func(_ Link, line []byte) error { j.lines = append(j.lines, line); return nil }
	}
	more, err := s.scan(from.link(), from.end())
	if err != nil {
		return err
	}
	found := append(from, more...)
	if known && len(found) < len(j.verified.chain) {
		return corrupt(j.name, "ends after record %d, though record %d was acknowledged", len(found), len(j.verified.chain))
	}
	if !known {
		j.here = false
		if err := j.checkTruncation(found, now.size); err != nil {
			return err
		}
	}
	j.verified = verified{chain: found, file: now, unsynced: j.verified.unsynced}
	return nil
}

// checkTruncation detects a journal that was truncated between two records: STATE_CORRUPT if
// the run's second place or its projection refers to a record that the journal lacks. Under
// the journal's lock neither can be ahead of it. An empty journal may be the result of a crash
// while a new run replaced one being deleted.
func (j *runJournal) checkTruncation(found chain, size int64) error {
	if size == 0 {
		return nil
	}
	name := snapshotName(j.key)
	if head, err := readHead(j.disk, name); err == nil && head.Version > len(found) {
		// a damaged snapshot proves nothing
		if snapshot, err := readSnapshot(j.disk, name, j.key); err == nil && snapshot.Version > len(found) {
			return corrupt(j.name, "ends after record %d, but %s stands for record %d", len(found), name, snapshot.Version)
		}
	}
	if head, known := readHeadOf(j.disk, j.key); known {
		return head.cut(j.name, j.key, found)
	}
	return nil
}

// makeDurable recovers the journal before this process appends after a record that
// it did not write itself.
func (j *runJournal) makeDurable() error {
	if j.verified.durable || j.verified.file.size == 0 {
		return nil
	}
	count := len(j.verified.chain)
	err := journal.Recover(j.file, j.verified.endOf(count-1), j.verified.end(), j.verified.file.size)
	if err == nil {
		j.verified.file, err = j.file.Stat()
	}
	if err != nil {
		return j.syncFailed(err)
	}
	j.verified.durable, j.verified.unsynced = true, false
	return nil
}

// append writes the line of a record, given without its newline, and returns when the disk has it: one
// write, one sync. The caller holds the journal for writing.
func (j *runJournal) append(hash string, line []byte) error {
	line = append(line, '\n')
	if err := journal.Append(j.file, j.verified.end(), line, true); err != nil {
		// After a failed write or sync the system's view of a file may not be
		// the disk's: the next use opens and verifies it anew.
		j.close()
		j.verified = verified{unsynced: errors.Is(err, journal.ErrLineRemains)}
		return notSaved(j.name, err)
	}
	j.verified.chain = append(j.verified.chain, recordEnd{hash, j.verified.end() + int64(len(line))})
	j.verified.durable, j.verified.unsynced = true, false
	// If the stat fails the journal is not fresh, and the next step reads.
	j.verified.file, _ = j.file.Stat()
	j.noteHead()
	return nil
}

// replay visits at most limit records after a version, all of them if limit is
// not positive. It verifies again what the holder did not verify itself.
func (j *runJournal) replay(after, limit int, visit func(Link, []byte) error) error {
	last := len(j.verified.chain)
	inHand := last - len(j.lines)
	after = min(max(after, 0), last)
	if limit > 0 {
		last = min(after+limit, last)
	}
	if upTo := min(inHand, last); after < upTo {
		from := j.verified.chain[:after]
		found, err := scanner{j.name, j.key, j.file, j.verified.endOf(upTo), visit}.scan(from.link(), from.end())
		if err == nil && !slices.Equal(found, j.verified.chain[after:upTo]) {
			err = corruptRecord(j.name, upTo, "is not the one that was verified")
		}
		if err != nil {
			return err
		}
		after = upTo
	}
	for version := after + 1; version <= last; version++ {
		if err := visit(Link{version, j.verified.hashOf(version)}, j.lines[version-inHand-1]); err != nil {
			return err
		}
	}
	return nil
}
