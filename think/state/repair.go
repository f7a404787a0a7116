package state

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"

	"savant/fault"
	"savant/internal/atomicfile"
)

// Repaired lists what Repair restored and what is lost.
type Repaired struct {
	// Version is the last good version, which is now the latest; 0 if the run has no
	// complete record and is lost.
	Version int
	// Lost are the records known to have come after it, by version. One that
	// cannot be read has nothing but its Version. Unlisted counts further ones.
	Lost     []Record
	Unlisted int
	// Kept is the folder of the trash that holds the damaged files unchanged;
	// empty if nothing was damaged.
	Kept string
	// Checkpoints are damaged checkpoints, now in Kept, that can be recomputed from their
	// records: Name and Version are set.
	Checkpoints []CheckpointInfo
}

// Repair restores a damaged run. The journal then ends before the first damaged record,
// or after the version upTo unless that is 0, and no snapshot or checkpoint refers to a
// removed record. First it copies every file that it removes or changes to the trash. A
// run without damage is unchanged. STATE_CORRUPT wrapping ErrNewerFormat for files of a
// newer format, which are not touched; UNKNOWN_RUN.
func (d *Dir) Repair(ctx context.Context, key Key, upTo int) (Repaired, error) {
	if err := key.Validate(); err != nil {
		return Repaired{}, err
	}
	wanted := moving
	if _, err := d.disk.Stat(journalName(key)); missing(err) {
		if !d.orphan(key) {
			return Repaired{}, unknownRun(key)
		}
		wanted = creating // so that the other files are moved under a lock
	}
	var result Repaired
	err := d.with(ctx, key, wanted, func(j *runJournal) (err error) {
		r := repair{dir: d, journal: j, key: key}
		err = r.run(upTo)
		result = r.result
		return err
	})
	return result, err
}

// repair is one Repair under way; the journal is held.
type repair struct {
	dir     *Dir
	journal *runJournal
	key     Key
	found   foundRecords
	result  Repaired
	// known is the newest version that any file names.
	known int
}

func (r *repair) run(upTo int) error {
	opened, info, err := openFile(r.dir.disk, r.journal.name, os.O_RDONLY)
	if err != nil {
		return notRead(r.journal.name, err)
	}
	defer func() { _ = opened.Close() }() // only read
	r.found, err = findRecords(r.journal.name, r.key, opened, info.size, upTo)
	if err != nil {
		return err
	}
	bad, err := r.badSnapshots()
	if err != nil {
		return err
	}
	if head, known := readHeadOf(r.dir.disk, r.key); known && head.cut(r.journal.name, r.key, r.found.chain) != nil {
		r.known = max(r.known, head.last.Version)
		r.result.Lost, r.result.Unlisted = r.lost()
		defer dropHead(r.dir.disk, r.key) // last: until then the run is as damaged as before
	}
	if r.found.damage == nil && len(bad) == 0 {
		if r.result.Version = len(r.found.chain); len(r.found.chain) == 0 {
			return unknownRun(r.key)
		}
		return nil
	}
	return r.restore(io.NewSectionReader(opened, 0, info.size), bad)
}

// restore moves damaged files to the trash and puts the good content in their place,
// the journal last: until then the run is as damaged as before.
func (r *repair) restore(text *io.SectionReader, bad []snapshotFile) error {
	kept, err := r.dir.makeTrash(damagedLabel + trashLabel(r.key))
	if err != nil {
		return err
	}
	r.result.Kept, r.result.Version = kept, len(r.found.chain)
	r.result.Lost, r.result.Unlisted = r.lost()
	for _, file := range bad {
		if err := r.dir.move(file.name, path.Join(kept, file.keep)); err != nil {
			return err
		}
	}
	if r.found.damage == nil && len(r.found.chain) > 0 {
		return nil
	}
	if err := r.dir.replaceFrom(path.Join(kept, keptJournal), text, atomicfile.Durable); err != nil {
		return err
	}
	if len(r.found.chain) > 0 {
		return r.dir.replaceJournal(r.journal, io.NewSectionReader(text, 0, r.found.end()))
	}
	return r.dir.removeJournal(r.journal)
}

// Names in the trash that differ from those of deleted runs, so that Undelete cannot
// confuse them.
const (
	damagedLabel = "-damaged"
	keptJournal  = "journal"
	keptSnapshot = "snapshot.json"
	keptLatest   = "latest.json"
	keptNamed    = "checkpoint." // and the name of the checkpoint
)

// snapshotFile is a file that must refer to a record.
type snapshotFile struct {
	name string
	// keep is its name in the trash, checkpoint the name of the checkpoint.
	keep, checkpoint string
}

// snapshotFiles returns the snapshot files of a run, existing or not: its projection,
// its workflow's latest projection unless that is of another run, and the checkpoints.
func (d *Dir) snapshotFiles(key Key) ([]snapshotFile, error) {
	names, err := d.checkpointNames(key)
	if err != nil {
		return nil, err
	}
	files := []snapshotFile{{name: snapshotName(key), keep: keptSnapshot}}
	if d.isLatest(key) {
		files = append(files, snapshotFile{name: latestName(key.Workflow), keep: keptLatest})
	}
	for _, name := range names {
		files = append(files, snapshotFile{checkpointName(key, name), keptNamed + name + jsonSuffix, name})
	}
	return files, nil
}

// isLatest reports whether the readable file of a workflow's latest run is this
// run's, or does not say whose it is.
func (d *Dir) isLatest(key Key) bool {
	head, err := readHead(d.disk, latestName(key.Workflow))
	return err == nil && (head.Run == key.Run || head.Run == "")
}

// badSnapshots returns the snapshots that do not refer to a valid record, and notes the
// checkpoints among them that can be recomputed.
func (r *repair) badSnapshots() (bad []snapshotFile, err error) {
	files, err := r.dir.snapshotFiles(r.key)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		snapshot, err := readSnapshot(r.dir.disk, file.name, r.key)
		switch {
		case missing(err) || err == nil && r.found.standsFor(snapshot):
			continue
		case isNewer(err) || err != nil && !isCorrupt(err):
			return nil, err
		case err == nil:
			r.known = max(r.known, snapshot.Version)
		case file.checkpoint != "":
			r.noteCheckpoint(file)
		}
		bad = append(bad, file)
	}
	return bad, nil
}

// noteCheckpoint notes a checkpoint whose state is damaged but whose record is still
// known.
func (r *repair) noteCheckpoint(file snapshotFile) {
	data, err := readAll(r.dir.disk, file.name)
	var snapshot Snapshot
	if err == nil && json.Unmarshal(data, &snapshot) == nil && r.found.standsFor(snapshot) {
		r.result.Checkpoints = append(r.result.Checkpoints, CheckpointInfo{Name: file.checkpoint, Version: snapshot.Version})
	}
}

// maxLost bounds the records that are listed as lost: how many there were is only claimed.
const maxLost = 1000

// lost lists the records after the last good one: the readable ones, and the versions of
// those that are known to have existed. unlisted counts those beyond maxLost.
func (r *repair) lost() (lost []Record, unlisted int) {
	good := len(r.found.chain)
	known := max(r.known, good+r.found.lines)
	for version := range r.found.beyond {
		known = max(known, version)
	}
	lost = []Record{}
	for version := good + 1; version <= min(known, good+maxLost); version++ {
		record := r.found.beyond[version]
		record.Version = version
		lost = append(lost, record)
	}
	return lost, known - good - len(lost)
}

// removeJournal removes a journal without a whole record; a copy is kept.
func (d *Dir) removeJournal(j *runJournal) error {
	err := d.disk.Remove(j.name)
	if err == nil {
		err = d.disk.SyncFolder(path.Dir(j.name))
	}
	if err != nil {
		return notSaved(j.name, err)
	}
	j.closeAndInvalidate()
	_ = d.disk.Remove(checkpointFolder(j.key)) // empty now, if it is there
	return nil
}

// Quarantine moves an artifact whose content is not that of its digest into a folder of
// the trash, so that PutArtifact can rewrite it. It returns the folder, or "" if there
// is no such file. INVALID_PARAMS for an invalid digest.
func (d *Dir) Quarantine(ctx context.Context, digest string) (kept string, err error) {
	if _, err = d.Artifact(ctx, digest); !errors.Is(err, fault.StateCorrupt) {
		return "", err
	}
	name := artifactName(digest)
	if _, err := d.disk.Stat(name); missing(err) {
		return "", nil
	}
	if kept, err = d.makeTrash(damagedLabel + "-artifact-" + digest[:16]); err != nil {
		return "", err
	}
	return kept, d.move(name, path.Join(kept, digest))
}
