package reasoning

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"savant/fault"
)

// StreamType is the media type of a streamed answer. Each line is a JSON object
// {"text": …} with output of the model; the last one is the intent, an error, or
// Deciding.
const StreamType = "application/x-ndjson"

// StatusDeciding is the status of a service that is still deciding.
const StatusDeciding = "deciding"

// StreamLine is a line of a streamed answer, except the intent. RetryAfter, in seconds,
// may accompany an error or a status.
type StreamLine struct {
	Text       *string `json:"text,omitempty"`
	Status     string  `json:"status,omitempty"`
	Error      string  `json:"error,omitempty"`
	Details    string  `json:"details,omitempty"`
	RetryAfter float64 `json:"retry_after,omitempty"`
}

// postForIntent is Post for a service that may stream its answer, and is asked to if the observer
// streams. It passes each text to the observer. An answer that is an error of the service is one.
func postForIntent(ctx context.Context, client *http.Client, address string, header http.Header, body []byte, observer Observer) (json.RawMessage, error) {
	if observer.Streams() {
		header.Set("Accept", StreamType+", application/json;q=0.9")
	}
	response, err := send(ctx, client, http.MethodPost, address, header, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || kind != StreamType {
		answer, err := readAnswer(ctx, response, header)
		if err != nil {
			return nil, err
		}
		var line map[string]json.RawMessage
		switch broke := BrokeOff(answer, false); {
		case broke != "" && response.ContentLength < 0:
			return nil, &Temporary{Err: fault.New(fault.ReasoningUnavailable, "it %s", broke)}
		case json.Unmarshal(answer, &line) == nil && line["error"] != nil && line["action"] == nil && line["intent"] == nil:
			return nil, lineError(hide(string(answer), header), 0)
		}
		return answer, nil
	}
	lines := &watchedReader{Reader: io.LimitReader(response.Body, maxStream)}
	answer, err := readLines(lines, header, observer)
	if lines.broken != nil {
		return nil, networkError(ctx, lines.broken)
	}
	return answer, err
}

// BrokeOff says how an answer broke off, or the rest of one that has begun; "" if it did not.
// A connection without a length ends like a whole answer, and a proxy writes a page of its own
// into the answer where it lost the service.
func BrokeOff(answer []byte, begun bool) string {
	text := bytes.TrimSpace(answer)
	err := json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage))
	switch {
	case err == nil, len(answer) > MaxAnswer:
		return ""
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "ended its answer too early"
	case begun && (text[0] != '{' || text[len(text)-1] != '}'):
		return "broke off its answer with " + strings.Join(strings.Fields(beginning(text)), " ")
	}
	return ""
}

// readLines returns the line with the intent.
func readLines(from io.Reader, sent http.Header, observer Observer) (json.RawMessage, error) {
	for decoder, begun := json.NewDecoder(from), false; ; begun = true {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			rest, _ := io.ReadAll(io.LimitReader(io.MultiReader(decoder.Buffered(), from), MaxAnswer))
			if broke := BrokeOff([]byte(hide(string(rest), sent)), begun); broke != "" { // hidden before it is cut
				return nil, &Temporary{Err: fault.New(fault.ReasoningUnavailable, "it %s", broke)}
			}
			return nil, fault.New(fault.InvalidIntent, "a line of its answer is not JSON")
		}
		var line struct {
			StreamLine
			Action json.RawMessage `json:"action"`
		}
		if json.Unmarshal(raw, &line) != nil || line.Action != nil {
			return raw, nil
		}
		after := time.Duration(min(max(line.RetryAfter, 0), 1<<31) * float64(time.Second))
		switch {
		case line.Text != nil:
			observer.Wrote(*line.Text)
		case line.Status == StatusDeciding:
			return nil, &Pending{After: after}
		case line.Error != "":
			return nil, lineError(hide(string(raw), sent), after)
		default:
			return raw, nil
		}
	}
}

// lineError is the error of a decision that failed after its stream began.
func lineError(line string, after time.Duration) error {
	if coded := refusal(http.StatusUnprocessableEntity, line); coded != nil {
		return coded
	}
	return &Temporary{Err: fault.New(fault.ReasoningUnavailable, "it answered %s", fault.Cut(line, maxReceived)), After: after}
}

// newText forwards the streamed text of a service. A service that is polled again streams
// from the beginning; newText forwards only the new part.
type newText struct {
	Observer
	sent, at int
}

// Wrote forwards the new part of a text.
func (h *newText) Wrote(text string) {
	h.at += len(text)
	if fresh := min(h.at-h.sent, len(text)); fresh > 0 {
		h.sent = h.at
		h.Observer.Wrote(text[len(text)-fresh:])
	}
}

// attempt begins another attempt, whose text starts anew.
func (h *newText) attempt() {
	if h.sent > 0 {
		h.Observer.Wrote("\n")
		h.sent = 0
	}
}

// again begins another round trip of the same attempt.
func (h *newText) again() { h.at = 0 }
