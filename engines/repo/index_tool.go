package repo

import (
	"context"
	"time"

	"savant/engines"
	"savant/engines/repo/index"
)

// refresh brings an index up to date and reports progress to the client and, if it
// takes long, to the log.
func (s *Search) refresh(ctx context.Context, call engines.Call, in *searched, ix *index.Index) (index.Changes, error) {
	b := newBuilding(call, s.logger, in.name)
	changes, err := ix.Refresh(ctx, b.progress(ctx))
	if err == nil {
		b.finished(ctx, changes)
	}
	return changes, err
}

func (r *searched) open(ctx context.Context) (*index.Index, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.index != nil {
		return r.index, nil
	}
	var err error
	if r.options.CacheFolder, err = cacheFolder(r.project, r.known); err != nil {
		return nil, err
	}
	opened, err := index.Open(ctx, r.options)
	r.index = opened
	return opened, err
}

type indexIn struct {
	Action string `json:"action,omitempty" enum:"status,refresh" doc:"status, the default, or refresh."`
	Repo   string `json:"repo,omitempty" doc:"Only this repository of SAVANT_REPOS; . is the project itself; default all."`
}

type indexOut struct {
	Repos []indexState `json:"repos"`
}

// indexState describes an index. If it was never built, Updated is empty and
// AgeSeconds is 0; the first search builds it.
type indexState struct {
	Repo       string         `json:"repo,omitempty"`
	Files      int            `json:"files"`
	Bytes      int64          `json:"bytes"`
	Skipped    map[string]int `json:"skipped"`
	IndexBytes int64          `json:"index_bytes"`
	Updated    string         `json:"updated,omitempty"`
	AgeSeconds int64          `json:"age_seconds"`
	Changed    int            `json:"changed,omitempty"`
	Removed    int            `json:"removed,omitempty"`
}

func (s *Search) indexTool(ctx context.Context, call engines.Call, in indexIn) (indexOut, error) {
	repos, err := s.repositories(in.Repo)
	if err != nil {
		return indexOut{}, err
	}
	var out indexOut
	for _, each := range repos {
		state, err := s.stateOf(ctx, call, each, in.Action == "refresh")
		if err != nil {
			return indexOut{}, withRepositoryName(each.name, err)
		}
		out.Repos = append(out.Repos, state)
	}
	return out, nil
}

func (s *Search) stateOf(ctx context.Context, call engines.Call, in *searched, refresh bool) (indexState, error) {
	ix, err := in.open(ctx)
	if err != nil {
		return indexState{}, err
	}
	var changes index.Changes
	if refresh {
		if changes, err = s.refresh(ctx, call, in, ix); err != nil {
			return indexState{}, err
		}
	}
	status, err := ix.Status(ctx)
	if err != nil {
		return indexState{}, err
	}
	state := indexState{Repo: in.name, Files: status.Files, Bytes: status.Bytes, Skipped: status.Skipped,
		IndexBytes: status.IndexBytes, Changed: changes.Updated, Removed: changes.Removed}
	if !status.Updated.IsZero() {
		state.Updated = status.Updated.Format(time.RFC3339)
		state.AgeSeconds = int64(time.Since(status.Updated).Seconds())
	}
	return state, nil
}
