// Package notify tells another program that a person is asked: it posts signed messages
// to one address, as Standard Webhooks describes them.
package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"savant/internal/httpclient"
)

// What a message is about.
const (
	Asked     = "question.asked"
	Remind    = "question.remind"
	Escalated = "question.escalate"
)

// Question is what a message says: where a person is asked, never with which values.
type Question struct {
	Workflow string `json:"workflow,omitempty"`
	Run      string `json:"run,omitempty"`
	Step     string `json:"step,omitempty"`
	// Session and Tool are those of a call that a rule asks about.
	Session string `json:"session,omitempty"`
	Tool    string `json:"tool,omitempty"`
	// Message is the first line of the question, without secrets.
	Message string `json:"message"`
	// Link leads to the page where it is answered.
	Link string `json:"link"`
}

// Message is one message. A receiver that has seen its ID drops it.
type Message struct {
	ID   string    `json:"-"`
	Type string    `json:"type"`
	Time time.Time `json:"timestamp"`
	Data Question  `json:"data"`
}

// Bounds of what is sent: messages that wait, attempts for each, the pause before the
// second one, which then grows fivefold, the time of an attempt, and of an answer's length.
const (
	maxWaiting = 100
	attempts   = 4
	patience   = 10 * time.Second
	maxAnswer  = 64 << 10
)

// Sender posts messages to an address. It is safe for concurrent use.
type Sender struct {
	address, host string
	key           []byte
	pause         time.Duration
	waiting       chan Message
	client        *http.Client
	logger        *slog.Logger
}

// New returns a sender that works until ctx ends. The secret is a text, or whsec_ and
// base64. A failed attempt is repeated after a pause.
func New(ctx context.Context, address, secret string, pause time.Duration, logger *slog.Logger) (*Sender, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return nil, err
	}
	s := &Sender{address: address, host: request.URL.Host, key: keyOf(secret), pause: pause, waiting: make(chan Message, maxWaiting), logger: logger,
		client: &http.Client{Timeout: patience, CheckRedirect: httpclient.SameOrigin}}
	go s.work(ctx)
	return s, nil
}

func keyOf(secret string) []byte {
	if text, is := strings.CutPrefix(secret, "whsec_"); is {
		if key, err := base64.StdEncoding.DecodeString(text); err == nil {
			return key
		}
	}
	return []byte(secret)
}

// Send queues a message, and reports whether it did: not if too many wait.
func (s *Sender) Send(message Message) bool {
	select {
	case s.waiting <- message:
		return true
	default:
		return false
	}
}

func (s *Sender) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case message := <-s.waiting:
			s.deliver(ctx, message)
		}
	}
}

// deliver sends a message until the receiver takes it, a few times.
func (s *Sender) deliver(ctx context.Context, message Message) {
	pause := s.pause
	for attempt := 1; ; attempt++ {
		again, err := s.post(ctx, message)
		if err == nil || ctx.Err() != nil {
			return
		}
		if !again || attempt == attempts {
			s.logger.WarnContext(ctx, "a notification was not delivered", "host", s.host, "run", message.Data.Run, "attempts", attempt, "cause", err.Error())
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			pause *= 5
		}
	}
}

// withoutAddress returns the cause of a failed request: an address can have a secret.
func withoutAddress(err error) error {
	if failed := new(url.Error); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// post sends a message once. again: another attempt may succeed.
func (s *Sender) post(ctx context.Context, message Message) (again bool, err error) {
	body, err := json.Marshal(message)
	if err != nil {
		return false, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	sum := hmac.New(sha256.New, s.key)
	fmt.Fprintf(sum, "%s.%s.%s", message.ID, at, body)
	for name, value := range map[string]string{"Content-Type": "application/json", "User-Agent": "savant", "Webhook-Id": message.ID, "Webhook-Timestamp": at,
		"Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))} {
		request.Header.Set(name, value)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return true, withoutAddress(err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode < 300 {
		return false, nil
	}
	again = answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusRequestTimeout
	return again, fmt.Errorf("the receiver answered %s", cmp.Or(http.StatusText(answer.StatusCode), answer.Status))
}
