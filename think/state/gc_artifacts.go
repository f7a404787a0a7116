package state

import (
	"context"
	"os"
	"path"
	"time"
)

// Collected counts what GCArtifacts removed, or would remove.
type Collected struct {
	Artifacts int   `json:"artifacts"`
	Bytes     int64 `json:"bytes"`
}

// GCArtifacts removes the artifacts older than grace that no file of the state, the
// trash or the receipts names; with dry it only counts them.
//
// Any occurrence of a digest in a file counts, so that damaged runs and runs of a newer
// format keep their artifacts. grace covers the time between writing an artifact and
// the record that names it.
func (d *Dir) GCArtifacts(ctx context.Context, grace time.Duration, dry bool) (Collected, error) {
	named := map[string]bool{}
	for _, folder := range []string{stateFolder, trashFolder, receiptFolder} {
		if err := d.walk(ctx, folder, func(name string, _ stat) error { return d.mark(name, named) }); err != nil {
			return Collected{}, err
		}
	}
	var removed Collected
	err := d.walk(ctx, artifactFolder, func(name string, found stat) error {
		digest := path.Base(name)
		if ctx.Err() != nil {
			return interrupted(ctx, artifactFolder)
		}
		if ArtifactFile(digest) != name || named[digest] || d.options.Now().Sub(found.modified) < grace {
			return nil
		}
		gone, err := dry, error(nil)
		if !dry {
			gone, err = d.gcArtifact(digest, found)
		}
		if gone {
			removed.Artifacts, removed.Bytes = removed.Artifacts+1, removed.Bytes+found.size
		}
		return err
	})
	return removed, err
}

// mark collects the digests that a file names.
func (d *Dir) mark(name string, named map[string]bool) error {
	opened, info, err := openFile(d.disk, name, os.O_RDONLY)
	if missing(err) {
		return nil
	}
	if err != nil {
		return notRead(name, err)
	}
	defer func() { _ = opened.Close() }() // only read
	block := make([]byte, min(info.size, markBlock))
	for at := int64(0); at < info.size; at += markBlock - hashLength + 1 { // a digest may be in two blocks
		text, err := readInto(block, opened, at, info.size)
		if err != nil {
			return notRead(name, err)
		}
		DigestsIn(text, named)
	}
	return nil
}

// markBlock is how much of a file is looked through at once, in bytes.
const markBlock = 1 << 20

// DigestsIn collects every run of as many hexadecimal digits as a digest has.
func DigestsIn(text []byte, found map[string]bool) {
	digits := 0
	for i, c := range text {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			digits = 0
			continue
		}
		if digits++; digits >= hashLength {
			found[string(text[i+1-hashLength:i+1])] = true
		}
	}
}

// gcArtifact removes an artifact that was found old, and reports whether it did.
// PutArtifact may touch it at any moment, which makes it new: so the file is
// moved aside first, and put back if that happened in between.
func (d *Dir) gcArtifact(digest string, found stat) (gone bool, err error) {
	name := artifactName(digest)
	aside := path.Join(path.Dir(name), "."+digest+temporarySuffix)
	if err := d.disk.Rename(name, aside); err != nil && !missing(err) {
		return false, notSaved(name, err)
	}
	again, err := d.disk.Stat(aside)
	if gone = err == nil && again.equals(found); gone {
		err = d.disk.Remove(aside)
	} else {
		err = d.disk.Rename(aside, name)
	}
	if err != nil && !missing(err) {
		return false, notSaved(name, err)
	}
	return gone, nil
}
