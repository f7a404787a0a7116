package state

import (
	"context"
	"path"
	"slices"
	"time"
)

// Collected says what GCArtifacts removed, or would remove.
type Collected struct {
	Artifacts int   `json:"artifacts"`
	Bytes     int64 `json:"bytes"`
}

// GCArtifacts removes the artifacts that no file of the state, of the trash or
// of the receipts names, unless they are newer than grace; with dry it only
// counts them.
//
// A digest counts as named wherever it stands in a file, so that a damaged run
// and one of a newer format keep theirs. grace covers the time between an
// artifact and the record that names it.
func (d *Dir) GCArtifacts(ctx context.Context, grace time.Duration, dry bool) (Collected, error) {
	named := map[string]bool{}
	for _, folder := range []string{stateFolder, trashFolder, receiptFolder} {
		if err := d.mark(ctx, folder, named); err != nil {
			return Collected{}, err
		}
	}
	digests, err := d.artifacts(ctx)
	if err != nil {
		return Collected{}, err
	}
	var removed Collected
	for _, digest := range digests {
		if ctx.Err() != nil {
			return removed, interrupted(ctx, artifactFolder)
		}
		if named[digest] {
			continue
		}
		size, old, err := d.gcArtifact(digest, grace, dry)
		if err != nil {
			return removed, err
		}
		if old {
			removed.Artifacts, removed.Bytes = removed.Artifacts+1, removed.Bytes+size
		}
	}
	return removed, nil
}

// artifacts returns the digests of all artifacts, sorted.
func (d *Dir) artifacts(ctx context.Context) ([]string, error) {
	folders, err := d.disk.Names(artifactFolder)
	if err != nil && !missing(err) {
		return nil, notRead(artifactFolder, err)
	}
	var digests []string
	for _, folder := range folders {
		if ctx.Err() != nil {
			return nil, interrupted(ctx, artifactFolder)
		}
		names, err := d.disk.Names(path.Join(artifactFolder, folder))
		if err != nil {
			continue // not a folder of this store
		}
		for _, name := range names {
			if digestPattern().MatchString(name) {
				digests = append(digests, name)
			}
		}
	}
	slices.Sort(digests)
	return digests, nil
}

// mark collects the digests that the files below a folder name.
func (d *Dir) mark(ctx context.Context, name string, named map[string]bool) error {
	if ctx.Err() != nil {
		return interrupted(ctx, name)
	}
	names, notFolder := d.disk.Names(name)
	for _, below := range names {
		if err := d.mark(ctx, path.Join(name, below), named); err != nil {
			return err
		}
	}
	if notFolder == nil || missing(notFolder) {
		return nil
	}
	text, err := readAll(d.disk, name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return notRead(name, err)
	}
	digestsIn(text, named)
	return nil
}

// digestsIn collects every run of as many hexadecimal digits as a digest has.
func digestsIn(text []byte, found map[string]bool) {
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

// gcArtifact removes one artifact unless it is new, and returns its size.
// PutArtifact may touch it at any moment, which makes it new: so the file is
// moved aside first, and put back if that happened in between.
func (d *Dir) gcArtifact(digest string, grace time.Duration, dry bool) (size int64, old bool, err error) {
	name := artifactName(digest)
	found, err := d.disk.Stat(name)
	if missing(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, notRead(name, err)
	}
	old = d.now().Sub(found.modified) >= grace
	if dry || !old {
		return found.size, old, nil
	}
	aside := path.Join(path.Dir(name), "."+digest+temporarySuffix)
	if err := d.disk.Rename(name, aside); err != nil {
		return 0, false, notSaved(name, err)
	}
	if again, err := d.disk.Stat(aside); err != nil || !again.same(found) {
		return 0, false, d.putBack(aside, name)
	}
	if err := d.disk.Remove(aside); err != nil {
		return 0, false, notSaved(name, err)
	}
	return found.size, true, nil
}

func (d *Dir) putBack(aside, name string) error {
	if err := d.disk.Rename(aside, name); err != nil {
		return notSaved(name, err)
	}
	return nil
}
