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
	// progressSpacing is the least time between two progress notifications,
	// and between the last one and the reply: TypeScript clients lose progress
	// that arrives in one chunk with the reply.
	progressSpacing = 5 * time.Millisecond
	// maxProgressWaiting bounds how far a reply is delayed by what waits to be
	// sent before it. Beyond it the oldest report is dropped.
	maxProgressWaiting = 8
)

// pacer sends the progress of one request. A nil pacer sends none.
type pacer struct {
	token json.RawMessage
	// waiting are the reports to send; sent is closed when all are.
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

// newPacer returns the pacer of a request, which has to be finished, or nil when
// its _meta does not ask for progress.
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

// reporter returns the function tools report with, or nil.
func (p *pacer) reporter() func(done, total float64, message string) {
	if p == nil {
		return nil
	}
	return p.report
}

// report queues one report and returns at once. One that does not grow is
// dropped, as the protocol asks, and so is one that comes after the reply.
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

// dropOldest makes room among the reports that wait.
func (p *pacer) dropOldest() {
	select {
	case <-p.waiting:
	default: // it was sent meanwhile
	}
}

// finish sends what still waits, nothing if ctx has ended, and returns when
// the reply may follow.
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
