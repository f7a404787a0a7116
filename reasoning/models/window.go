package models

import (
	"context"
	"sync"
	"time"
)

// window caches the size of a model's context window.
type window struct {
	mu    sync.Mutex
	known bool
	size  int
}

// windowWait bounds the query for the window.
const windowWait = 5 * time.Second

// windowFrom returns the size of the window, queried once. It is 0 if the service does
// not answer.
func (s *service) windowFrom(ctx context.Context, ask func(context.Context) int) int {
	s.window.mu.Lock()
	defer s.window.mu.Unlock()
	if !s.window.known {
		bounded, cancel := context.WithTimeout(ctx, windowWait)
		defer cancel()
		size := ask(bounded)
		if ctx.Err() != nil {
			return 0
		}
		s.window.known, s.window.size = true, max(size, 0)
	}
	return s.window.size
}
