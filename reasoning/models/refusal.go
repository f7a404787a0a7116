package models

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"savant/internal/pattern"
	"savant/reasoning"
)

// said is the error in the body of an answer: its message, and the whole of it. Some
// proxies and compatible services send errors with status 200, or amid a stream.
type said struct {
	message, whole string
	// status is that of HTTP, 0 if the error does not say it.
	status int
}

// refusal returns the error in the body of an answer; nil if it has none.
func refusal(answer []byte) *said {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(answer, &body) != nil {
		return nil
	}
	made := &said{message: inner(body.Error).text, whole: string(answer)}
	switch {
	case made.message != "":
	case json.Unmarshal(body.Error, &members) != nil || len(members) == 0:
		return nil
	default:
		made.message = inner(members["message"]).text
	}
	if made.message == "" {
		made.message = string(body.Error)
	}
	made.message = strings.Join(strings.Fields(strings.ToValidUTF8(made.message, "\uFFFD")), " ")
	for _, name := range []string{"code", "status", "status_code"} {
		var given count
		if json.Unmarshal(members[name], &given) == nil && given >= http.StatusBadRequest && made.status == 0 {
			made.status = int(given)
		}
	}
	return made
}

var (
	// passes matches what services say of faults that pass, in a type, a code or a sentence.
	passes = pattern.Lazy(`(?i)overload|rate.?limit|too many requests|resource.?exhausted|api_error|server.?error|internal|unavailable|timed?.?out|loading model|` +
		`try again|at capacity|busy|connection (?:lost|reset|closed)|unexpected EOF|runner|running the model`)
	// stays matches what no wait changes.
	stays = pattern.Lazy(`(?i)insufficient_quota|invalid_request|authentication|permission|not.?found|billing`)
)

// refused is the error of an answer that is one, Temporary if it may pass.
func (s *service) refused(by *said) error {
	refused := &reasoning.Refused{Status: by.status, Body: by.whole, Err: s.failed("answered an error: " + by.message)}
	mayPass := passes().MatchString(by.whole)
	if by.status > 0 {
		mayPass = modelPasses(by.status)
	}
	if mayPass && !stays().MatchString(by.whole) {
		return &reasoning.Temporary{Err: refused, After: reasoning.AskedWait(by.whole)}
	}
	return refused
}

// modelPasses is reasoning.Passing for the services of models, where a conflict passes,
// too.
func modelPasses(status int) bool { return reasoning.Passing(status) || status == http.StatusConflict }

// passing makes the error of a status Temporary that passes for models only.
func passing(err error) error {
	var refused *reasoning.Refused
	if errors.As(err, new(*reasoning.Temporary)) || !errors.As(err, &refused) || refused.Status != http.StatusConflict {
		return err
	}
	return &reasoning.Temporary{Err: refused, After: refused.After}
}
