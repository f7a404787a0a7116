package models

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"savant/internal/pattern"
	"savant/reasoning"
)

// bodyError is the error in the body of an answer: its message, and the whole of it. Some
// proxies and compatible services send errors with status 200, or amid a stream.
type bodyError struct {
	message, whole string
	// status is that of HTTP, 0 if the error does not say it.
	status int
}

// statusName matches the names that services give to the status of HTTP.
var statusName = pattern.Lazy(`(?i)code|status`)

// refusal returns the error in the body of an answer; nil if it has none.
func refusal(answer []byte) *bodyError {
	found := errorIn(gjson.ParseBytes(answer))
	made := &bodyError{message: found.Str, whole: string(answer)}
	switch {
	case made.message != "":
	case !found.IsObject() || found.Raw == "{}":
		return nil
	default:
		made.message = cmp.Or(found.Get("message").Str, found.Get("detail").Str, found.Raw)
	}
	made.message = strings.Join(strings.Fields(strings.ToValidUTF8(made.message, "\uFFFD")), " ")
	found.ForEach(func(name, member gjson.Result) bool { // http_code, statusCode; a window of 512 is none
		if status := tokens(member); statusName().MatchString(name.Str) && (status/100 == 4 || status/100 == 5) {
			made.status = status
		}
		return made.status == 0
	})
	return made
}

// errorIn returns the error of an answer: a member of it, of its choice, or the answer
// itself, perhaps as the only one of a list.
func errorIn(answer gjson.Result) gjson.Result {
	if list := answer.Array(); answer.IsArray() && len(list) == 1 {
		answer = list[0]
	}
	switch own := answer.Get("error"); {
	case own.Type != gjson.Null:
		return own
	case answer.Get("choices.0").Exists():
		return answer.Get("choices.0.error")
	case answer.Get("object").Str == "error", answer.Get("detail").Str != "", answer.Get("message").Str != "":
		return answer
	}
	return gjson.Result{}
}

var (
	// passes matches what services say of faults that pass, in a type, a code or a sentence.
	passes = pattern.Lazy(`(?i)overload|rate.?limit|too many requests|resource.?exhausted|api_error|server.?error|internal|unavailable|timed?.?out|upstream|disconnect|loading model|` +
		`try again|at capacity|busy|concurrency|connection (?:lost|reset|closed)|unexpected EOF|runner|running the model`)
	// loads matches what services say, with any status, of too many requests and of a model that
	// is not there yet, or no longer: LM Studio loads one that has crashed again when it is asked.
	loads = pattern.Lazy(`(?i)throttling|too many requests|\b(?:loading|warming up|initiali[sz]ing)\b|not (?:yet )?ready|model (?:has |is |was )?(?:crashed|unloaded)\b`)
	// stays matches what no wait changes.
	stays = pattern.Lazy(`(?i)insufficient[_ ](?:quota|balance)|exceeded_current_quota|invalid_request|authentication|permission|not.?found|no such|does not exist|billing_|credits|error loading`)
)

// refusalError is the error of an answer that is one, Temporary if it may pass.
func (s *service) refusalError(by *bodyError) error {
	refused := &reasoning.Refused{Status: by.status, Body: by.whole, Err: s.failed("answered an error: " + by.message)}
	mayPass := passes().MatchString(by.whole)
	if by.status > 0 || !mayPass {
		mayPass = modelPasses(by.status, by.whole)
	}
	if mayPass && !stays().MatchString(by.whole) {
		return &reasoning.Temporary{Err: refused, After: reasoning.AskedWait(by.whole)}
	}
	return refused
}

// Statuses that pass: what a service says to one who asks too often, and a proxy where a
// connection was closed.
const (
	statusCalm   = 420
	statusClosed = 499
)

// modelPasses is reasoning.IsTemporaryStatus for the services of models, where a conflict and a model
// that is not ready pass, too.
func modelPasses(status int, body string) bool {
	return reasoning.IsTemporaryStatus(status) || status == http.StatusConflict || status == http.StatusFailedDependency || status == statusCalm || status == statusClosed || loads().MatchString(body)
}

// markTemporary makes the error of a status Temporary that passes for models only.
func markTemporary(err error) error {
	var refused *reasoning.Refused
	if errors.As(err, new(*reasoning.Temporary)) || !errors.As(err, &refused) || !modelPasses(refused.Status, refused.Body) || stays().MatchString(refused.Body) {
		return err
	}
	return &reasoning.Temporary{Err: refused, After: refused.After}
}
