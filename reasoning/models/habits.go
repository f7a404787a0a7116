package models

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"savant/internal/pattern"
	"savant/reasoning"
)

// Parts of a request that a service may refuse. The names of response formats are
// others.
const (
	partSystem        = "system"
	partStreamOptions = "stream_options"
	partTemperature   = "temperature"
	partThink         = "think"
	partMaxTokens     = "max_tokens"
	partMaxCompletion = "max_completion_tokens"
)

// naming matches what names a part in a refusal.
var naming = map[string]func() *regexp.Regexp{
	partSystem:        pattern.Lazy(`(?i)(?:system|developer)\b.{0,60}\b(?:roles?|instructions?|messages?|prompts?)\b|\broles?\b.{0,60}\b(?:system|alternate|user)|only user`),
	partStreamOptions: pattern.Lazy(`(?i)stream_?options`),
	partTemperature:   pattern.Lazy(`(?i)temperature`),
	partThink:         pattern.Lazy(`(?i)think`),
	partMaxTokens:     pattern.Lazy(`(?i)max_?tokens`),
	partMaxCompletion: pattern.Lazy(`(?i)max_?completion_?tokens`),
}

// namingFormat matches what names a response format in a refusal.
var namingFormat = pattern.Lazy(`(?i)schema|response_?format|\bformat|grammar|structured|guided|\btool|json_|\bjson\b`)

// habits are the parts of requests that the service of a model refused in this process.
type habits struct {
	mu      sync.Mutex
	refused []string
	// version is the part of the path that the service turned out to need.
	version string
}

// takes reports whether a part may be sent.
func (h *habits) takes(part string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !slices.Contains(h.refused, part)
}

// learn remembers the part that a refusal names first of those that were sent, and
// reports whether there is one: then another form of the request may be taken.
func (h *habits) learn(err error, sent []string) bool {
	var refused *reasoning.Refused
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Status {
	case 0, http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
	default:
		return false
	}
	told, first := "", len(refused.Body)
	for _, part := range sent {
		names := namingFormat
		if known := naming[part]; known != nil {
			names = known
		}
		if at := names().FindStringIndex(refused.Body); part != "" && at != nil && at[0] < first {
			told, first = part, at[0]
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if told == "" || slices.Contains(h.refused, told) {
		return told != "" // a concurrent question learnt it
	}
	h.refused = append(h.refused, told)
	return true
}

// inForms asks in the first response format that the service takes, and again without
// what it refuses; the last format is "", none. ask returns the parts that it sent.
func (s *service) inForms(formats []string, ask func(i int) (reply Reply, sent []string, err error)) (Reply, error) {
	for range len(formats) + len(naming) {
		i := slices.IndexFunc(formats, s.habits.takes)
		reply, sent, err := ask(i)
		if err == nil || !s.habits.learn(err, append(sent, formats[i])) {
			return reply, err
		}
	}
	reply, _, err := ask(len(formats) - 1)
	return reply, err
}

// conversation returns the messages of a prompt: the system's as the beginning of the
// user's if the service refused that role.
func (s *service) conversation(prompt Prompt) (messages []message, sent []string) {
	switch {
	case prompt.System == "":
		return []message{{"user", prompt.User}}, nil
	case !s.habits.takes(partSystem):
		return []message{{"user", prompt.System + "\n\n" + prompt.User}}, nil
	}
	return []message{{"system", prompt.System}, {"user", prompt.User}}, []string{partSystem}
}

// unknownPath matches what services say of a path that they do not have.
var unknownPath = pattern.Lazy(`(?i)unexpected endpoint|(?:unknown|invalid|no such|unrecognized)(?: request)? (?:url|path|endpoint|route)|(?:url|path|route|endpoint|page)\S* (?:was )?not found|cannot post|no route`)

// ofRequest matches what services say of what was asked at a path that they have.
var ofRequest = pattern.Lazy(`(?i)model|parameter`)

// lacksPath reports whether an error says that the service does not have the path.
func lacksPath(err error) bool {
	var refused *reasoning.Refused
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return unknownPath().MatchString(refused.Body) || !ofRequest().MatchString(refused.Body)
	case 0:
		return unknownPath().MatchString(refused.Body)
	}
	return false
}
