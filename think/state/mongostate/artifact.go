package mongostate

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/mongo"
	"savant/internal/pattern"
	"savant/think/state"
)

var digestPattern = pattern.Lazy(`^[0-9a-f]{64}$`)

// renewal is how old an artifact may be that is put again without being written anew.
// Its age keeps it from being collected before a record names it.
const renewal = time.Hour

// PutArtifact implements state.Artifacts.
func (s *Store) PutArtifact(ctx context.Context, data []byte) (string, error) {
	digest := jsonvalue.HexSum(data)
	document := mongo.Document{Key: digest, Time: s.options.Now(), Body: data, Meta: strconv.Itoa(len(data))}
	won, err := s.artifacts.Insert(ctx, document)
	if err == nil && !won {
		err = s.renew(ctx, document)
	}
	return digest, s.notSaved(ctx, "a value of a run was not saved", err)
}

// renew rewrites an artifact that was damaged, or whose grace period must restart.
func (s *Store) renew(ctx context.Context, document mongo.Document) error {
	present, there, err := s.artifacts.Find(ctx, document.Key)
	switch {
	case err != nil && !lost(err):
		return err
	case there && bytes.Equal(present.Body, document.Body) && s.options.Now().Sub(present.Time) < renewal:
		return nil
	}
	return s.artifacts.Replace(ctx, document)
}

// Artifact implements state.Artifacts.
func (s *Store) Artifact(ctx context.Context, digest string) ([]byte, error) {
	if !digestPattern().MatchString(digest) {
		return nil, fault.New(fault.InvalidParams, "%q is not a SHA-256 in hexadecimal", fault.Cut(digest, 100))
	}
	document, there, err := s.artifacts.Find(ctx, digest)
	if err != nil {
		return nil, s.notRead(ctx, "artifact "+digest, err)
	}
	if !there {
		return nil, fault.New(fault.StateCorrupt, "artifact %s: %w", digest, state.ErrNoArtifact)
	}
	if jsonvalue.HexSum(document.Body) != digest {
		return nil, fault.New(fault.StateCorrupt, "artifact %s: it was changed", digest)
	}
	if document.Body == nil {
		return []byte{}, nil
	}
	return document.Body, nil
}

// Quarantine implements state.Maintenance. Of an artifact that lacks a part nothing is kept.
func (s *Store) Quarantine(ctx context.Context, digest string) (kept string, err error) {
	if !digestPattern().MatchString(digest) {
		return "", fault.New(fault.InvalidParams, "%q is not a SHA-256 in hexadecimal", fault.Cut(digest, 100))
	}
	document, there, err := s.artifacts.Find(ctx, digest)
	if err == nil && (!there || jsonvalue.HexSum(document.Body) == digest) {
		return "", nil
	}
	if err == nil {
		document.Key, document.Nonce = digest+"/"+document.Nonce, ""
		kept = "artifacts_damaged/" + document.Key
		_, err = s.damaged.Insert(ctx, document)
	}
	if err == nil || lost(err) {
		err = s.artifacts.Delete(ctx, digest)
	}
	return kept, s.notSaved(ctx, "artifact "+digest+" was not set aside", err)
}

// lost says that a document lacks a part.
func lost(err error) bool { return errors.Is(err, mongo.ErrPartMissing) }
