package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"savant/engines"
)

// progressEvery is how often a command says how a call goes. A call that takes
// less is not spoken of.
const progressEvery = time.Second

// withProgress returns a context in which calls tell stderr how they go.
func (p *program) withProgress(ctx context.Context) context.Context {
	return engines.WithCaller(ctx, engines.Caller{Progress: paced(p.stderr, time.Now)})
}

// paced writes a line of progress to out, at most one each progressEvery.
func paced(out io.Writer, now func() time.Time) func(done, total float64, message string) {
	var mu sync.Mutex
	last := now()
	return func(done, total float64, message string) {
		mu.Lock()
		defer mu.Unlock()
		if now().Sub(last) < progressEvery {
			return
		}
		last = now()
		line := visible(message)
		if total > 0 {
			line += fmt.Sprintf(": %.0f of %.0f", done, total)
		}
		fmt.Fprintln(out, line)
	}
}
