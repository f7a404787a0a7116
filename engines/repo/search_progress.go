package repo

import (
	"context"
	"log/slog"
	"time"

	"savant/engines"
	"savant/engines/repo/index"
)

// A build is logged after quietTime, and then every progressEvery.
const (
	quietTime     = time.Second
	progressEvery = 2 * time.Second
)

// building reports the progress of a build to the client and to the log.
type building struct {
	logger *slog.Logger
	repo   string
	call   engines.Call

	began, logged time.Time // logged is zero until the first line in the log
}

func (b *building) progress(ctx context.Context) index.Progress {
	b.began = time.Now()
	return func(done, total int) {
		if b.call.Progress != nil {
			b.call.Progress(float64(done), float64(total), "indexing files")
		}
		now := time.Now()
		if now.Sub(b.began) < quietTime || now.Sub(b.logged) < progressEvery {
			return
		}
		b.logged = now
		b.logger.InfoContext(ctx, "building the search index", "repo", b.repo, "files", done, "of", total)
	}
}

// finished logs what was done: at level INFO for a first build and for one whose
// progress was logged, else at level DEBUG.
func (b *building) finished(ctx context.Context, changes index.Changes) {
	if changes == (index.Changes{}) {
		return
	}
	level := slog.LevelDebug
	if changes.First || !b.logged.IsZero() {
		level = slog.LevelInfo
	}
	b.logger.Log(ctx, level, "the search index was updated", "repo", b.repo, "updated", changes.Updated,
		"removed", changes.Removed, "took", time.Since(b.began).Round(time.Millisecond))
}

func newBuilding(call engines.Call, logger *slog.Logger, repo string) *building {
	return &building{logger: logger, repo: repo, call: call}
}
