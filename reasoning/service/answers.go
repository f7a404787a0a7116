package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"savant/reasoning"
)

// Bounds of the cache: age, count and total bytes of the answers. The oldest are
// evicted first.
const (
	AnswersTTL  = time.Hour
	maxAnswers  = 1000
	maxKeptSize = 32 << 20
)

// answers caches decisions by idempotency key, so that a repeated question costs
// nothing. A question that is already being decided waits for that decision.
type answers struct {
	// base is the context of decisions that nobody waits for; nil cancels them.
	base context.Context

	mu      sync.Mutex
	pending map[string]*pending
	kept    *lru.Cache[string, kept]
	size    int // of kept, in bytes
	files   *answerFiles
}

// kept is a cached answer.
type kept struct {
	intent reasoning.Intent
	until  time.Time
	size   int
}

// pending is a question that is being decided.
type pending struct {
	cancel  context.CancelFunc
	waiting int
	written transcript
	done    chan struct{} // closed when intent and err are set
	intent  reasoning.Intent
	err     error
}

// newAnswers returns a cache, persistent in a folder; nil keeps it in memory.
func newAnswers(folder *os.Root) *answers {
	a := &answers{pending: map[string]*pending{}}
	a.kept, _ = lru.NewWithEvict(maxAnswers, func(key string, old kept) { // fails only for a size below 1
		a.size -= old.size
		a.files.remove(key)
	})
	if folder != nil {
		a.files = &answerFiles{folder}
	}
	for _, each := range a.files.load(time.Now()) {
		a.keep(each.key, each.Intent, each.Until)
	}
	return a
}

// ask returns the cached answer to a request, or has it decided. It returns the error
// of ctx when ctx ends. Errors are not cached. The observer receives the streamed text
// from the beginning.
func (a *answers) ask(ctx context.Context, key string, request reasoning.Request, observer reasoning.Observer, by Decider) (reasoning.Intent, error) {
	key = digest(key, request)
	a.mu.Lock()
	if intent, has := a.answered(key); has {
		a.mu.Unlock()
		return intent, nil
	}
	p := a.pending[key]
	if p == nil {
		p = a.begin(ctx, key, request, observer, by)
	}
	p.waiting++
	a.mu.Unlock()
	tell := p.written.listener(observer)
	for {
		more := tell()
		select {
		case <-p.done:
			tell()
			return p.intent, p.err
		case <-more:
		case <-ctx.Done():
			a.leave(key, p)
			return reasoning.Intent{}, ctx.Err()
		}
	}
}

// answered returns a cached answer.
func (a *answers) answered(key string) (reasoning.Intent, bool) {
	held, has := a.kept.Get(key)
	if has && time.Now().After(held.until) {
		a.kept.Remove(key)
		has = false
	}
	held.intent.Cached = has
	return held.intent, has
}

// begin starts the decision of a request, independently of the callers that wait for it.
func (a *answers) begin(ctx context.Context, key string, request reasoning.Request, observer reasoning.Observer, by Decider) *pending {
	bounded, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := func() bool { return true }
	if a.base != nil {
		forget = context.AfterFunc(a.base, cancel)
	}
	p := &pending{cancel: cancel, done: make(chan struct{})}
	a.pending[key] = p
	go func() {
		defer cancel()
		defer forget()
		p.intent, p.err = by.Decide(bounded, request, transcribed{observer, &p.written})
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.pending[key] == p {
			delete(a.pending, key)
		}
		if p.err == nil {
			until := time.Now().Add(AnswersTTL)
			a.keep(key, p.intent, until)
			a.files.save(key, until, p.intent)
		}
		close(p.done)
	}()
	return p
}

func (a *answers) keep(key string, intent reasoning.Intent, until time.Time) {
	raw, err := json.Marshal(intent)
	if err != nil || len(raw) > maxKeptSize {
		return
	}
	a.kept.Remove(key)
	a.kept.Add(key, kept{intent: intent, until: until, size: len(raw)})
	for a.size += len(raw); a.size > maxKeptSize; {
		a.kept.RemoveOldest()
	}
}

// leave removes a caller that stopped waiting; the last one cancels the decision if base
// is nil.
func (a *answers) leave(key string, p *pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.waiting--; p.waiting > 0 || a.base != nil {
		return
	}
	if a.pending[key] == p {
		delete(a.pending, key)
	}
	p.cancel()
}

// digest hashes a key and its question, so that a key reused for another question does
// not get the first one's answer. It excludes the tools, the repository and the limits,
// which may change before a retry.
func digest(key string, request reasoning.Request) string {
	request.Tools, request.Repo, request.Limits = nil, nil, reasoning.Limits{}
	sum := sha256.New()
	raw, _ := request.Encode() // what cannot be encoded has its key
	sum.Write(raw)
	fmt.Fprintf(sum, "\x00%s", key)
	return hex.EncodeToString(sum.Sum(nil))
}
