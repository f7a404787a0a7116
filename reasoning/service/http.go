package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/redact"
	"savant/internal/webguard"
	"savant/reasoning"
	"savant/schemas"
)

// MaxRequest bounds a request in bytes.
const MaxRequest = 8 << 20

// Decider decides requests; Service implements it.
type Decider interface {
	Decide(ctx context.Context, request reasoning.Request, observer reasoning.Observer) (reasoning.Intent, error)
}

// HandlerOptions configure a handler.
type HandlerOptions struct {
	Decider Decider
	// Schema is schemas/reasoning_request.json. Requests must match it.
	Schema *schemas.Schema
	// Token is the required bearer token; "" requires none.
	Token string
	// Base cancels open decisions when the server ends; nil never cancels them.
	Base context.Context
	// Folder makes the cache of answers persistent; nil keeps it in memory.
	Folder *os.Root
	// Logger gets the causes of INTERNAL; nil discards them.
	Logger *slog.Logger
}

// NewHandler serves POST /agent_intent. An error is a fault as JSON:
// INVALID_PARAMS 400, TOOL_DENIED 401 (403 for pages in a browser), LIMIT_EXCEEDED
// 413, INVALID_INTENT 422, REASONING_UNAVAILABLE 503, any other 500.
//
// A request with an Idempotency-Key is decided once within AnswersTTL, even if its
// client disconnects. With "Prefer: respond-async, wait=SECONDS" it is answered with
// 202 when that time is over; repeating the request returns the decision.
//
// If the request accepts reasoning.StreamType, the model's output is streamed.
func NewHandler(options HandlerOptions) http.Handler {
	options = options.filled()
	mux := http.NewServeMux()
	kept := newAnswers(options.Folder)
	kept.base = options.Base
	mux.Handle("POST "+reasoning.Endpoint, &handler{options, kept})
	return mux
}

// filled returns the options with their defaults.
func (o HandlerOptions) filled() HandlerOptions {
	o.Base, o.Logger = cmp.Or(o.Base, context.Background()), cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

type handler struct {
	options HandlerOptions
	answers *answers
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "" { // CSRF: any web page can post to this machine
		h.refuse(w, r, fault.New(fault.ToolDenied, "this service does not answer pages in a browser"), http.StatusForbidden)
		return
	}
	if !h.authorized(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		h.refuse(w, r, fault.New(fault.ToolDenied, "a bearer token is needed"), http.StatusUnauthorized)
		return
	}
	request, err := h.read(w, r)
	if err != nil {
		h.refuse(w, r, err, statusOf(err))
		return
	}
	lines := &lines{w: w}
	var observer reasoning.Observer = reasoning.Unobserved{}
	if lines.wanted(r) {
		observer = lines
	}
	intent, err := h.decide(r, request, observer)
	switch begun := lines.end(intent, err); {
	case begun:
	case errors.Is(err, errStill):
		w.Header().Set("Retry-After", "0")
		w.Header().Set("Preference-Applied", "respond-async")
		h.write(w, r, http.StatusAccepted, reasoning.StreamLine{Status: reasoning.StatusDeciding})
	case err != nil:
		h.refuse(w, r, err, statusOf(err))
	default:
		h.write(w, r, http.StatusOK, intent)
	}
}

// errStill says that a decision takes longer than the client waits.
var errStill = errors.New("still deciding")

// decide returns the decision, or errStill.
func (h *handler) decide(r *http.Request, request reasoning.Request, observer reasoning.Observer) (reasoning.Intent, error) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return h.options.Decider.Decide(r.Context(), request, observer)
	}
	ctx := r.Context()
	if wait, async := patienceOf(r.Header.Values("Prefer")); async {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, wait, errStill)
		defer cancel()
	}
	intent, err := h.answers.ask(ctx, key, request, observer, h.options.Decider)
	if err != nil && r.Context().Err() == nil && errors.Is(context.Cause(ctx), errStill) && errors.Is(err, context.DeadlineExceeded) {
		return intent, errStill
	}
	return intent, err
}

// patienceOf reads the preferences respond-async and wait (RFC 7240). Without wait
// it is defaultWait.
func patienceOf(prefer []string) (wait time.Duration, async bool) {
	wait = defaultWait
	for _, each := range strings.FieldsFunc(strings.Join(prefer, ","), func(c rune) bool { return c == ',' || c == ';' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(each), "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "respond-async":
			async = true
		case "wait":
			if seconds, err := strconv.Atoi(strings.Trim(value, `" `)); err == nil && seconds >= 0 {
				wait = min(time.Duration(seconds), maxWait) * time.Second
			}
		}
	}
	return wait, async
}

// The default waiting time of a request, and its limit in seconds.
const (
	defaultWait = 10 * time.Second
	maxWait     = 3600
)

// authorized compares digests in constant time.
func (h *handler) authorized(r *http.Request) bool {
	return h.options.Token == "" || webguard.Equal(webguard.Digest(h.options.Token), webguard.Digest(webguard.Bearer(r)))
}

// read returns a request that matches the schema.
func (h *handler) read(w http.ResponseWriter, r *http.Request) (reasoning.Request, error) {
	var request reasoning.Request
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequest))
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return request, fault.New(fault.LimitExceeded, "the request is larger than %d bytes", MaxRequest)
		}
		return request, fault.New(fault.InvalidParams, "the request was cut off")
	}
	value, err := jsonvalue.Decode(body)
	if err != nil {
		return request, fault.New(fault.InvalidParams, "the request is not JSON: %w", err)
	}
	if err := h.options.Schema.Check(value); err != nil {
		coded := fault.From(err)
		return request, fault.New(fault.InvalidParams, "%s", coded.Details).With(coded.Diagnostics...)
	}
	if err := jsonvalue.UnmarshalWhole(body, &request); err != nil {
		return request, fault.New(fault.InvalidParams, "the request: %w", err)
	}
	return request, nil
}

func statusOf(err error) int {
	statuses := map[fault.Code]int{fault.InvalidParams: http.StatusBadRequest, fault.LimitExceeded: http.StatusRequestEntityTooLarge,
		fault.InvalidIntent: http.StatusUnprocessableEntity, fault.ReasoningUnavailable: http.StatusServiceUnavailable}
	return cmp.Or(statuses[fault.From(err).Code], http.StatusInternalServerError)
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error, status int) {
	coded := fault.From(err)
	var temporary *reasoning.Temporary
	if errors.As(err, &temporary) && temporary.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(temporary.After.Seconds()))))
	}
	if coded.Code == fault.Internal {
		h.options.Logger.ErrorContext(r.Context(), "a decision failed", "cause", redact.Shapes().Text(err.Error()))
	}
	h.write(w, r, status, coded)
}

func (h *handler) write(w http.ResponseWriter, r *http.Request, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		h.options.Logger.ErrorContext(r.Context(), "an answer does not marshal", "cause", err.Error())
		status, body = http.StatusInternalServerError, []byte(`{"error":"INTERNAL","details":"an internal error; the log has the cause","diagnostics":[]}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		h.options.Logger.DebugContext(r.Context(), "nobody waited for the answer", "cause", err.Error())
	}
}
