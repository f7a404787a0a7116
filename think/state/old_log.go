package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/filelock"
	"savant/internal/ownfolder"
)

// An older Savant wrote the records of several runs into a common log before it
// synced their journals. After a crash the log may hold acknowledged records
// that a journal lacks: importOldLogs brings them into the journals.

// oldLogFolder is not the name of a workflow.
const (
	oldLogFolder = stateFolder + "/.log"
	oldLogSuffix = ".log"
	// oldLogPatience is how long Open waits for another process that imports.
	oldLogPatience = 5 * time.Second
)

// importOldLogs imports the logs that no process has locked, and removes them.
// A log stays while a journal is damaged before the records it has of it.
func (d *Dir) importOldLogs() error {
	names, err := namesIn(d.disk, oldLogFolder)
	if missing(err) || ownfolder.Displaced(err) { // the latter is reported when a run is used
		return nil
	}
	if err != nil {
		return notRead(oldLogFolder, err)
	}
	names = withSuffix(names, oldLogSuffix)
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), oldLogPatience)
	defer cancel()
	gate, err := d.disk.Open(path.Join(oldLogFolder, ".lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return notSaved(oldLogFolder, err)
	}
	defer func() { _ = gate.Close() }() // and with it the lock
	if err := filelock.Wait(ctx, func() (bool, error) { return gate.TryLock(true) }); err != nil {
		return notSaved(oldLogFolder, err)
	}
	return d.importLocked(ctx, names)
}

// importLocked imports the logs of which it gets the lock: one that is locked
// has an older Savant that is running and looks after it.
func (d *Dir) importLocked(ctx context.Context, names []string) error {
	var imported []string
	records := map[Key][][]byte{}
	for _, name := range names {
		name = path.Join(oldLogFolder, name+oldLogSuffix)
		log, info, err := openFile(d.disk, name, os.O_RDWR)
		if missing(err) {
			continue
		}
		if err != nil {
			return notRead(name, err)
		}
		defer func() { _ = log.Close() }() // only read
		free, err := log.TryLock(true)
		if err == nil && !free {
			continue
		}
		text, err := readRange(log, 0, info.size)
		if err != nil {
			return notRead(name, err)
		}
		imported = append(imported, name)
		addOldLog(records, text)
	}
	damaged := false
	for key, lines := range records {
		err := d.addLines(ctx, key, lines)
		damaged = damaged || isCorrupt(err)
		if err != nil && !isCorrupt(err) {
			return err
		}
	}
	for _, name := range imported {
		if damaged {
			break // reported when the run is used
		}
		if err := d.disk.Remove(name); err != nil {
			return notSaved(name, err)
		}
	}
	return nil
}

// addOldLog adds the lines of a log to each run, up to the first torn one: nothing
// after it was acknowledged. A line is the name of a run, a space and a line of its
// journal.
func addOldLog(records map[Key][][]byte, text []byte) {
	for each := range bytes.Lines(text) {
		name, line, _ := bytes.Cut(each, []byte(" "))
		workflow, run, _ := strings.Cut(string(name), "/")
		key := Key{workflow, run}
		record, ended := bytes.CutSuffix(line, []byte("\n"))
		if !ended || !isWhole(record) || key.Validate() != nil {
			return
		}
		records[key] = append(records[key], line)
	}
}

// addLines writes the lines that follow the records of a journal after them,
// and makes all of it durable. Lines that do not follow belong to a run that
// took another course since. STATE_CORRUPT if the journal is damaged before
// them.
func (d *Dir) addLines(ctx context.Context, key Key, lines [][]byte) error {
	slices.SortStableFunc(lines, func(a, b []byte) int { return cmp.Compare(headOf(a).Version, headOf(b).Version) })
	err := d.with(ctx, key, moving, func(j *runJournal) error {
		text, err := readAll(d.disk, j.name)
		if err != nil {
			return notRead(j.name, err)
		}
		found := findRecords(j.name, key, text, 0)
		if found.damage != nil && len(found.chain) < headOf(lines[0]).Version-1 {
			return found.damage
		}
		last, whole := found.link(), slices.Clone(text[:found.end()])
		for _, line := range lines {
			if link, err := check(j.name, key, last, line[:len(line)-1]); err == nil {
				last, whole = link, append(whole, line...)
			}
		}
		if len(whole) < len(text) { // the caller judges the rest
			whole = append(whole, text[len(whole):]...)
		}
		return d.replaceJournal(j, whole)
	})
	if errors.Is(err, fault.UnknownRun) {
		return nil // deleted, and synced before that
	}
	return err
}
