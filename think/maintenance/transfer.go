package maintenance

import (
	"context"
	"io"
	"maps"
	"slices"

	"savant/fault"
	"savant/think"
	"savant/think/audit"
	"savant/think/state"
)

// Transferred is the result of an export or an import.
type Transferred struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run_id"`
	Version  int    `json:"version"`
	// Hash is the hash of the last record; equal states have equal hashes.
	Hash      string `json:"hash"`
	Artifacts int    `json:"artifacts"`
	// Existed says that an import found an identical run.
	Existed bool `json:"existed,omitempty"`
	// Warning says why an import will refuse what an export wrote.
	Warning string `json:"warning,omitempty"`
}

// Export writes a run as one file: its records, its named checkpoints and every
// artifact that it names, the source of its workflow among them. The same state
// gives the same bytes. UNKNOWN_RUN; STATE_CORRUPT when something of it is
// missing.
func (k *Keeper) Export(ctx context.Context, key state.Key, to io.Writer) (*Transferred, error) {
	records, err := k.dir.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, err
	}
	packed := archive{key: key, records: records, artifacts: map[string][]byte{}, results: map[string]bool{}}
	all, err := allReferences(records)
	if err != nil {
		return nil, err
	}
	for _, each := range all {
		packed.results[each.Digest] = packed.results[each.Digest] || each.Kind == stepResult
		if packed.artifacts[each.Digest], err = k.dir.Artifact(ctx, each.Digest); err != nil {
			return nil, err
		}
	}
	checkpoints, err := k.dir.Checkpoints(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, each := range checkpoints {
		if each.Version <= len(records) { // one may have been added since
			packed.checkpoints = append(packed.checkpoints, namedVersion{each.Name, each.Version})
		}
	}
	refused, err := packed.write(to)
	if err != nil {
		return nil, err
	}
	out := packed.transferred()
	if refused != "" {
		out.Warning = refused + "; savant state import will refuse this file: copy the folder .savant to move the run"
	}
	return out, nil
}

// Import imports a run that Export wrote. Before the run becomes visible, Import
// verifies its hash chain, every file's digest and a full replay: INVALID_PARAMS for a
// file of another format, STATE_CORRUPT for a modified one, LIMIT_EXCEEDED
// for one that would take too much memory, STATE_CONFLICT for a different run of the same
// name.
func (k *Keeper) Import(ctx context.Context, from io.Reader) (*Transferred, error) {
	select {
	case k.importing <- struct{}{}:
	case <-ctx.Done():
		return nil, fault.New(fault.Internal, "gave up waiting for another import: %w", context.Cause(ctx))
	}
	defer func() { <-k.importing }()
	defer keepSmall()()
	packed, err := readArchive(from)
	if err != nil {
		return nil, err
	}
	if err := k.verifyArchive(ctx, packed); err != nil {
		return nil, err
	}
	out := packed.transferred()
	version, hash, err := k.dir.Head(ctx, packed.key)
	out.Existed = err == nil && version == out.Version && hash == out.Hash
	if err == nil && !out.Existed {
		return nil, fault.New(fault.StateConflict, "run %s already exists, at version v%d, and differs from the file, at v%d", packed.key, version, out.Version)
	}
	if err := k.install(ctx, packed); err != nil {
		return nil, err
	}
	key := state.Key{Workflow: out.Workflow, Run: out.Run} // and the file is out of memory
	if err := k.engine.Project(ctx, key); err != nil {
		return nil, err
	}
	return out, k.engine.Alone(key, func() error { return nil }) // and so is the run
}

// install makes a verified run visible, its artifacts first.
func (k *Keeper) install(ctx context.Context, packed *archive) error {
	for _, digest := range slices.Sorted(maps.Keys(packed.artifacts)) {
		if _, err := k.dir.PutArtifact(ctx, packed.artifacts[digest]); err != nil {
			return err
		}
	}
	return k.engine.Alone(packed.key, func() error {
		if err := k.dir.Adopt(ctx, packed.key, packed.records); err != nil {
			return err
		}
		for _, each := range packed.checkpoints {
			if err := k.engine.CheckpointAt(ctx, packed.key, each.Name, each.Version); err != nil {
				return err
			}
		}
		return nil
	})
}

// verifyArchive replays the run of a file from nothing but the file.
func (k *Keeper) verifyArchive(ctx context.Context, packed *archive) error {
	options := k.engine.Options
	options.Store = archiveStore{options.Store, packed}
	engine := think.New(options)
	defer engine.Close()
	_, d, err := audit.New(engine).Verify(ctx, packed.key, packed.records)
	if err != nil {
		return err
	}
	if d != nil {
		return fault.New(fault.StateCorrupt, "record %d does not follow from the records before it: recorded %s, replayed %s", d.Version,
			fault.Cut(d.Recorded, 200), fault.Cut(d.Replayed, 200))
	}
	return nil
}

// archiveStore gives a replay the records and artifacts of a file, and no others.
type archiveStore struct {
	state.Storage
	*archive
}

// Records implements state.Journal; their chain was verified.
func (s archiveStore) Records(_ context.Context, _ state.Key, after, limit int) ([]state.Record, error) {
	if limit <= 0 {
		limit = len(s.records)
	}
	return s.records[after:min(len(s.records), after+limit)], nil
}

// Artifact implements state.Storage; the digests were verified when the file was
// read.
func (s archiveStore) Artifact(_ context.Context, digest string) ([]byte, error) {
	data, ok := s.artifacts[digest]
	if !ok {
		return nil, fault.New(fault.StateCorrupt, "the file lacks the artifact %s", fault.Cut(digest, 100))
	}
	return data, nil
}

// checkReferences checks that the artifacts of a file are exactly those that its
// records name.
func (a *archive) checkReferences(artifacts []manifestItem) error {
	all, err := allReferences(a.records)
	if err != nil {
		return err
	}
	present, named := map[string]bool{}, map[string]bool{}
	for _, item := range artifacts {
		present[item.SHA256] = true
	}
	for _, each := range all {
		named[each.Digest] = true
		if !present[each.Digest] {
			return fault.New(fault.StateCorrupt, "the file lacks the %s %q of record %d", each.Kind, fault.Cut(each.Name, 120), each.Version)
		}
		a.results[each.Digest] = a.results[each.Digest] || each.Kind == stepResult
	}
	for _, item := range artifacts {
		if !named[item.SHA256] {
			return fault.New(fault.InvalidParams, "the file has the artifact %s, which no record names", fault.Cut(item.SHA256, 100))
		}
	}
	return nil
}

// archive is the content of an exported file.
type archive struct {
	key         state.Key
	records     []state.Record
	checkpoints []namedVersion
	artifacts   map[string][]byte
	// results are the digests of the artifacts that a replay decodes.
	results map[string]bool
}

// namedVersion is a checkpoint in a file: its state is made again from the
// records.
type namedVersion struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

func (a *archive) transferred() *Transferred {
	last := a.records[len(a.records)-1]
	return &Transferred{Workflow: a.key.Workflow, Run: a.key.Run, Version: last.Version, Hash: last.Hash, Artifacts: len(a.artifacts)}
}
