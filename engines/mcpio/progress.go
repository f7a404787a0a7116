package mcpio

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
)

const (
	// progressSpacing is the minimum time between two progress notifications and before
	// the reply: TypeScript clients lose progress that arrives in one chunk with the
	// reply.
	progressSpacing = 5 * time.Millisecond
	// maxProgressWaiting bounds the queue of reports, and so the delay of the reply. If
	// it is full, the oldest report is dropped.
	maxProgressWaiting = 8
)

// pacer sends the progress of one request. A nil pacer sends nothing.
type pacer struct {
	token json.RawMessage
	// waiting are the queued reports; sent is closed when all are sent.
	waiting chan progress
	sent    chan struct{}

	mu       sync.Mutex
	reported *float64
	finished bool
}

// progress is the parameters of notifications/progress.
type progress struct {
	Token   json.RawMessage `json:"progressToken"`
	Done    float64         `json:"progress"`
	Total   float64         `json:"total,omitempty"`
	Message string          `json:"message,omitempty"`
}

// newPacer returns the pacer of a request, or nil if its _meta does not ask for
// progress. The caller must call finish.
func newPacer(meta json.RawMessage, write func(any) error) *pacer {
	token := json.RawMessage(jsonvalue.Member(meta, "progressToken"))
	if !jsonrpc.ValidID(token) {
		return nil
	}
	p := &pacer{token: token, waiting: make(chan progress, maxProgressWaiting), sent: make(chan struct{})}
	go func() {
		defer close(p.sent)
		for report := range p.waiting {
			_ = write(jsonrpc.Notify(string(mcp.MethodNotificationProgress), report))
			time.Sleep(progressSpacing)
		}
	}()
	return p
}

// report queues one report without blocking. It drops a report that does not grow, as
// the protocol requires, and one after the reply.
func (p *pacer) report(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished || (p.reported != nil && done <= *p.reported) {
		return
	}
	p.reported = &done
	if len(p.waiting) == maxProgressWaiting {
		p.dropOldest()
	}
	p.waiting <- progress{p.token, done, total, visible.Line(message)}
}

// dropOldest removes the oldest queued report.
func (p *pacer) dropOldest() {
	select {
	case <-p.waiting:
	default: // it was sent meanwhile
	}
}

// finish sends the queued reports, or none if ctx has ended, and returns when the reply
// may follow.
func (p *pacer) finish(ctx context.Context) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.finished = true
	for ctx.Err() != nil && len(p.waiting) > 0 {
		p.dropOldest()
	}
	close(p.waiting)
	p.mu.Unlock()
	<-p.sent
}
