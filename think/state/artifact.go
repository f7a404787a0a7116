package state

import (
	"bytes"
	"context"
	"path"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/pattern"
)

var digestPattern = pattern.Lazy(`^[0-9a-f]{64}$`)

// ArtifactFile returns where an artifact is, relative to SAVANT_PATH, for
// messages; digest is a SHA-256 in hexadecimal.
func ArtifactFile(digest string) string {
	if !digestPattern().MatchString(digest) {
		return artifactFolder
	}
	return artifactName(digest)
}

// PutArtifact implements Artifacts. A value that exists is compared, and written
// again if it was damaged.
func (d *Dir) PutArtifact(ctx context.Context, data []byte) (string, error) {
	digest := digestOf(data, "")
	name := artifactName(digest)
	if err := ctx.Err(); err != nil {
		return "", interrupted(ctx, name)
	}
	if err := d.ensureFolder(path.Dir(name)); err != nil {
		return "", err
	}
	present, err := readAll(d.disk, name)
	if err == nil {
		// The modification time is renewed, so that no garbage collection removes the
		// artifact before a record names it.
		err = d.disk.Touch(name)
	}
	if err != nil || !bytes.Equal(present, data) {
		if err := d.replace(name, data, atomicfile.Durable); err != nil {
			return "", err
		}
		return digest, nil
	}
	// The content was synced before the file got its name. The name may not be
	// synced yet, if another process has just made it.
	if err := d.disk.SyncFolder(path.Dir(name)); err != nil {
		return "", notSaved(name, err)
	}
	return digest, nil
}

// Artifact implements Artifacts.
func (d *Dir) Artifact(ctx context.Context, digest string) ([]byte, error) {
	if !digestPattern().MatchString(digest) {
		return nil, fault.New(fault.InvalidParams, "%q is not a SHA-256 in hexadecimal", fault.Cut(digest, 100))
	}
	name := artifactName(digest)
	if ctx.Err() != nil {
		return nil, interrupted(ctx, name)
	}
	data, err := readAll(d.disk, name)
	if missing(err) {
		return nil, corrupt(name, "%w", ErrNoArtifact)
	}
	if err != nil {
		return nil, notRead(name, err)
	}
	if digestOf(data, "") != digest {
		return nil, corrupt(name, "the artifact was changed")
	}
	return data, nil
}
