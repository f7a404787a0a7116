package mcpio

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// A client that declares the extension of tasks (SEP-2663) gets a call that takes long as a
// task: it asks how the task stands, answers its questions, cancels it, and takes the
// result from it. What ends or asks before taskGrace is over is answered as for any other
// client. A task belongs to its caller and ends with the server; what its tool keeps
// durably, such as a run of the agent, goes on from there.

const (
	// tasksExtension names the extension.
	tasksExtension = "io.modelcontextprotocol/tasks"
	// missingCapability is the code for a client that did not declare it.
	missingCapability = -32021

	// taskGrace is how long a call is awaited before it becomes a task.
	taskGrace = 400 * time.Millisecond
	// taskLife is how long a task is kept from its beginning; one that still runs is
	// cancelled then.
	taskLife = 24 * time.Hour
	// taskPoll is how often a client should ask.
	taskPoll = time.Second
	// taskPause is the least time between two notifications of a task.
	taskPause = 200 * time.Millisecond
	// maxTasks bounds the tasks of one caller. The oldest task that has ended makes room. If
	// none has, a call is answered when it ends.
	maxTasks = 256
)

// The statuses of a task.
const (
	taskWorking   = "working"
	taskWaiting   = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// task is a call that goes on after its reply.
type task struct {
	id, owner string
	running   *execution

	mu       sync.Mutex
	status   string
	message  string
	began    time.Time
	changed  time.Time
	canceled bool
	// unanswered: it was cancelled while it waited for a person, so that what its call
	// returns says only that nobody answered.
	unanswered bool
	done       outcome
	asked      map[string]question
	// news is closed at each change, and replaced.
	news chan struct{}
	// expiry forgets the task.
	expiry *time.Timer
}

// taskResult is a task as written.
type taskResult struct {
	mcp.Result
	ID            string            `json:"taskId"`
	Status        string            `json:"status"`
	Message       string            `json:"statusMessage,omitempty"`
	Created       string            `json:"createdAt"`
	Changed       string            `json:"lastUpdatedAt"`
	Life          int64             `json:"ttlMs"`
	Poll          int64             `json:"pollIntervalMs"`
	Outcome       *callResult       `json:"result,omitempty"`
	Error         *jsonrpc.Error    `json:"error,omitempty"`
	InputRequests mcp.InputRequests `json:"inputRequests,omitempty"`
}

// canPoll reports whether the client takes tasks.
func (r *request) canPoll() bool { return r.Peer.modern && r.Peer.tasks }

// lacksTasks reports whether the client takes no tasks, and records the error that says so.
func (r *request) lacksTasks() bool {
	if !r.canPoll() {
		r.failure = &jsonrpc.Error{Code: missingCapability, Message: r.Method + " needs the client's capability " + tasksExtension,
			Data: map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}}}
	}
	return !r.canPoll()
}

// set changes a task that has not ended.
func (t *task) set(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if hasEnded(t.status) {
		return
	}
	change()
	t.changed = time.Now()
	close(t.news)
	t.news = make(chan struct{})
}

// hasEnded reports whether a task with a status does not change any more.
func hasEnded(status string) bool {
	return status == taskCompleted || status == taskFailed || status == taskCancelled
}

// follow takes what a call asks until it has ended.
func (t *task) follow() {
	for {
		select {
		case asked := <-t.running.asks:
			t.set(func() {
				t.asked[rand.Text()] = asked
				t.settle()
			})
		case done := <-t.running.done:
			t.set(func() {
				t.done, t.asked = done, nil
				switch {
				case t.canceled && (done.code != "" || t.unanswered):
					t.status = taskCancelled // a result that came nevertheless is kept
				case done.code == fault.Internal:
					t.status = taskFailed
				default:
					t.status = taskCompleted
				}
			})
			return
		}
	}
}

// cancel asks the tool to end. Whether the call had an effect shows when it has.
func (t *task) cancel(cause error) {
	t.set(func() { t.canceled, t.unanswered = true, t.running.asking.Load() > 0 })
	t.running.cancel(cause)
}

// answer passes the answers to open questions; others are ignored.
func (t *task) answer(answers map[string]json.RawMessage) {
	t.set(func() {
		for id, raw := range answers {
			if asked, open := t.asked[id]; open {
				delete(t.asked, id)
				asked.answer <- raw
			}
		}
		t.settle()
	})
}

// settle drops the questions that were answered elsewhere or whose call has ended, and says
// whether any is left. Its caller holds the lock.
func (t *task) settle() {
	maps.DeleteFunc(t.asked, func(_ string, asked question) bool { return asked.ctx.Err() != nil })
	t.status = taskWorking
	if len(t.asked) > 0 {
		t.status = taskWaiting
	}
}

// tell sends how the task stands, now and after each change, until it has ended or ctx has.
// A state that a newer one has followed within taskPause may be left out.
func (t *task) tell(ctx context.Context, to *subscription) {
	for {
		t.mu.Lock()
		news := t.news // before the state, so that no change is missed
		t.mu.Unlock()
		state := t.result(true)
		state.EnsureResultMeta().SetSubscriptionID(to.id)
		if to.send(jsonrpc.Notify(notificationTasks, state)) != nil || hasEnded(state.Status) {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(taskPause):
		case <-ctx.Done():
			return
		}
	}
}

// result returns the task as it stands, or as it was created.
func (t *task) result(whole bool) *taskResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &taskResult{ID: t.id, Status: t.status, Message: t.message, Created: t.began.UTC().Format(time.RFC3339Nano), Changed: t.changed.UTC().Format(time.RFC3339Nano),
		Life: taskLife.Milliseconds(), Poll: taskPoll.Milliseconds()}
	if !whole {
		out.ResultType = "task"
		return out
	}
	switch t.status {
	case taskCompleted:
		out.Outcome = t.done.result
	case taskFailed:
		coded := fault.From(errUnanswered)
		out.Error = &jsonrpc.Error{Code: jsonrpc.InternalError, Message: coded.Error(), Data: coded}
	case taskWaiting:
		out.InputRequests = mcp.InputRequests{}
		for id, each := range t.asked {
			if each.shown.IsZero() {
				*each.shown = time.Now()
			}
			out.InputRequests[id] = mcp.NewElicitationInputRequest(each.ElicitationParams)
		}
	}
	return out
}

// tasks are the tasks of all callers of a connection.
type tasks struct {
	mu     sync.Mutex
	byID   map[string]*task
	closed bool
}

// begin makes a task of a call; nil if the caller has too many.
func (s *tasks) begin(owner string, e *execution) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.room(owner) {
		return nil
	}
	now := time.Now()
	t := &task{id: newTaskID(e), owner: owner, running: e, status: taskWorking, began: now, changed: now, asked: map[string]question{}, news: make(chan struct{})}
	if s.byID == nil {
		s.byID = map[string]*task{}
	}
	s.byID[t.id] = t
	e.pacer.Store(nil)
	e.task.Store(t)
	t.expiry = time.AfterFunc(taskLife, func() { s.forget(t) })
	go t.follow()
	return t
}

// newTaskID returns an id that names the tool and its run. Nobody can guess it; and once the
// task is gone, it still says what there was.
func newTaskID(e *execution) string {
	return strings.TrimRight(rand.Text()+"~"+e.tool+"~"+e.later.Run(), "~")
}

var taskID = pattern.Lazy(`^([A-Z2-7]{26})~([\w.-]+)(?:~([\w.-]+))?$`)

// lost is the error for a task that is not there, or not this caller's.
func lost(id string) error {
	parts := taskID().FindStringSubmatch(id)
	if parts == nil {
		return fault.New(fault.InvalidParams, "there is no task %q", fault.Cut(id, maxEcho))
	}
	missing := fault.New(fault.InvalidParams, "there is no task %q: it has expired, it is another caller's, or this server did not begin it", parts[1])
	if parts[3] == "" {
		return missing.Hinted(fault.Hint{Text: "find out what " + parts[2] + " did before you call it again: it ended with its task"})
	}
	return missing.Hinted(fault.Hint{Text: fmt.Sprintf("run %[2]s is kept: to go on with it, call %[1]s {\"run_id\": %[2]q}", parts[2], parts[3])})
}

// room reports whether a caller may have one more task, and makes room for it. Its caller
// holds the lock.
func (s *tasks) room(owner string) bool {
	own := 0
	var oldest *task
	for _, each := range s.byID {
		if each.owner != owner {
			continue
		}
		own++
		if hasEnded(each.result(false).Status) && (oldest == nil || each.began.Before(oldest.began)) {
			oldest = each
		}
	}
	if own >= maxTasks && oldest != nil {
		oldest.expiry.Stop() // else its result would be held until then
		delete(s.byID, oldest.id)
		own--
	}
	return own < maxTasks
}

func (s *tasks) forget(t *task) {
	s.mu.Lock()
	delete(s.byID, t.id)
	s.mu.Unlock()
	t.cancel(nil)
}

// of returns a caller's task; nil for an unknown one, and for that of another caller.
func (s *tasks) of(owner, id string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.byID[id]; t != nil && t.owner == owner {
		return t
	}
	return nil
}

// end cancels all tasks; there are no later ones.
func (s *tasks) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, each := range s.byID {
		each.expiry.Stop()
		each.cancel(nil)
	}
}

// The methods about tasks. MethodTaskUpdate carries the answers of the client's user.
const (
	MethodTaskUpdate = "tasks/update"
	methodTaskGet    = "tasks/get"
	methodTaskCancel = "tasks/cancel"

	notificationTasks = "notifications/tasks"
)

func isTaskMethod(method string) bool {
	return method == methodTaskGet || method == MethodTaskUpdate || method == methodTaskCancel
}

// aboutTask serves a request about a task.
func (r *request) aboutTask(context.Context) (mcp.ResultMetadata, error) {
	if r.lacksTasks() {
		return nil, nil
	}
	id := jsonvalue.Text(r.params.TaskID)
	t := r.connection.tasks.of(r.Caller.ID, id)
	if t == nil {
		return nil, r.fail(jsonrpc.InvalidParams, lost(id))
	}
	switch r.Method {
	case methodTaskGet:
		return t.result(true), nil
	case methodTaskCancel:
		t.cancel(engines.ErrTaskCancelled)
	default:
		t.answer(r.params.InputResponses)
	}
	return &mcp.Result{}, nil
}
