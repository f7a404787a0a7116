package state

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"savant/fault"
)

// recovery brings into the journals what dead processes left in their logs. It
// is done when a store is opened; what could not be done then is tried again
// by the next step that it concerns.
type recovery struct {
	mu   sync.Mutex
	done bool
	// err kept all of it from being done, runs those of some.
	err  error
	runs map[Key]error
}

// recoveryPatience is how long Open waits for another process that recovers.
const recoveryPatience = 5 * time.Second

// recovered returns nil once nothing that was acknowledged for a run is in a
// log alone.
func (d *Dir) recovered(ctx context.Context, key Key) error {
	r := &d.recovery
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done || r.err == nil && r.runs != nil && r.runs[key] == nil {
		return nil
	}
	r.runs, r.err = d.recover(ctx)
	r.done = r.err == nil && len(r.runs) == 0
	return cmp.Or(r.err, r.runs[key])
}

// recover goes over the logs of dead processes, and removes them. It returns
// the runs for which that failed, never nil, and the error that stopped it.
func (d *Dir) recover(ctx context.Context) (map[Key]error, error) {
	failed := map[Key]error{}
	if names, err := d.logNames(); err != nil || len(names) == 0 {
		return failed, err
	}
	// One process at a time, and who comes second waits for the first.
	gate, err := d.disk.Open(path.Join(logFolder, ".lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return failed, notSaved(logFolder, err)
	}
	defer func() { _ = gate.Close() }() // and with it the lock
	if err := lock(ctx, logFolder, gate, true); err != nil {
		return failed, err
	}
	logs, records, err := d.abandoned()
	defer func() {
		for _, log := range logs {
			log.close()
		}
	}()
	if err != nil {
		return failed, err
	}
	damaged := false
	for key, lines := range records {
		err := d.redo(ctx, key, lines)
		damaged = damaged || isCorrupt(err)
		if err != nil && !isCorrupt(err) {
			failed[key] = errOfLog(err)
		}
	}
	if len(failed) > 0 || damaged { // damage is told when the run is used, and may be undone
		return failed, nil
	}
	for _, log := range logs {
		if err := log.remove(); err != nil {
			return failed, notSaved(log.name, err)
		}
	}
	return failed, nil
}

func (d *Dir) logNames() ([]string, error) {
	names, err := d.disk.Names(logFolder)
	if err != nil && !missing(err) {
		return nil, notRead(logFolder, err)
	}
	return withSuffix(names, logSuffix), nil
}

// abandoned returns the logs that no process has, locked, and their records by
// run, in the order of their versions.
func (d *Dir) abandoned() (logs []*commonLog, records map[Key][]loggedRecord, err error) {
	names, err := d.logNames()
	if err != nil {
		return nil, nil, err
	}
	records = map[Key][]loggedRecord{}
	for _, name := range names {
		log := &commonLog{disk: d.disk, name: path.Join(logFolder, name+logSuffix)}
		data, err := log.seize()
		if err != nil {
			return logs, nil, err
		}
		if log.file == nil {
			continue
		}
		logs = append(logs, log)
		for _, record := range readLog(data) {
			records[record.key] = append(records[record.key], record)
		}
	}
	for _, found := range records {
		slices.SortStableFunc(found, func(a, b loggedRecord) int { return cmp.Compare(a.version, b.version) })
	}
	return logs, records, nil
}

// seize opens, locks and reads a log; file stays nil where somebody has it, or
// it is gone.
func (l *commonLog) seize() ([]byte, error) {
	opened, info, err := openFile(l.disk, l.name, os.O_RDWR)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, notRead(l.name, err)
	}
	if locked, err := opened.TryLock(true); err != nil || !locked {
		_ = opened.Close() // only locked
		return nil, err
	}
	data, err := readRange(opened, 0, info.size)
	if err != nil {
		_ = opened.Close() // the first error is the one to report
		return nil, notRead(l.name, err)
	}
	l.file = opened
	return data, nil
}

// redo writes the records of a log to their places in the journal again, as far
// as they belong there, and syncs it. STATE_CORRUPT where the journal is damaged
// before them, or is none. Also those that seem to be there: the
// system may have them in memory only, and take them for written.
func (d *Dir) redo(ctx context.Context, key Key, records []loggedRecord) error {
	j, err := d.take(ctx, key)
	if err != nil {
		return err
	}
	defer d.give(j)
	release, err := j.hold(ctx, moving)
	if errors.Is(err, fault.UnknownRun) {
		return nil // deleted, and synced before that
	}
	if err != nil {
		return err
	}
	defer release()
	defer func() { j.tip = tip{} }() // it is read again by whoever comes next
	text, err := readAll(d.disk, j.name)
	if err != nil {
		return notRead(j.name, err)
	}
	found := salvageFrom(j.name, key, text, 0)
	if found.damage != nil && found.Version < records[0].version-1 {
		return found.damage // what comes before the records
	}
	for _, record := range records {
		if err := j.put(&found, record); err != nil {
			return notSaved(j.name, err)
		}
	}
	if err := j.file.Sync(); err != nil {
		return notSaved(j.name, err)
	}
	return nil
}

// put writes a record where it belongs: in the place it has, or as the one that
// follows. Where another one is there, or something is missing before it, the
// run has gone another way since.
func (j *journal) put(found *salvage, record loggedRecord) error {
	line := record.line[:len(record.line)-1]
	_, hash, _ := split(line)
	at := record.version - 1
	if at >= 0 && at < len(found.hashes) && found.hashes[at] == hash {
		_, err := j.file.WriteAt(record.line, found.starts[at])
		return err
	}
	link, err := check(j.name, j.key, found.Link, line)
	if err != nil {
		return nil
	}
	if _, err := j.file.WriteAt(record.line, found.end); err != nil {
		return err
	}
	found.add(link, len(record.line))
	found.hashes = append(found.hashes, hash)
	return nil
}
