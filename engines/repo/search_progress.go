package repo

import (
	"context"
	"log/slog"
	"time"

	"savant/engines"
	"savant/engines/repo/index"
)

// How long an index is silently built, and how often a person hears of it then.
const (
	quietTime     = time.Second
	progressEvery = 2 * time.Second
)

// building tells a client and a person how far an index is.
type building struct {
	logger *slog.Logger
	repo   string
	client func(done, total float64, message string) // nil where it did not ask

	began, said time.Time // said is zero while the person has heard nothing
}

func (b *building) progress(ctx context.Context) index.Progress {
	b.began = time.Now()
	return func(done, total int) {
		if b.client != nil {
			b.client(float64(done), float64(total), "indexing files")
		}
		now := time.Now()
		if now.Sub(b.began) < quietTime || now.Sub(b.said) < progressEvery {
			return
		}
		b.said = now
		b.logger.InfoContext(ctx, "building the search index", "repo", b.repo, "files", done, "of", total)
	}
}

// finished says what was done: a few files that changed are no news for a
// person who heard nothing of it before.
func (b *building) finished(ctx context.Context, changes index.Changes) {
	if changes == (index.Changes{}) {
		return
	}
	level := slog.LevelDebug
	if changes.First || !b.said.IsZero() {
		level = slog.LevelInfo
	}
	b.logger.Log(ctx, level, "the search index was updated", "repo", b.repo, "updated", changes.Updated,
		"removed", changes.Removed, "took", time.Since(b.began).Round(time.Millisecond))
}

func newBuilding(ctx context.Context, logger *slog.Logger, repo string) *building {
	return &building{logger: logger, repo: repo, client: engines.CallerFrom(ctx).Progress}
}
