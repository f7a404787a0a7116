package models

import (
	"errors"
	"net/http"
	"strconv"

	"savant/internal/pattern"
	"savant/reasoning"
)

// TooLong is the error of a prompt that a model's window does not hold. Window is its
// size in tokens, 0 if the service does not say.
type TooLong struct {
	Window int
	Err    error
}

func (t *TooLong) Error() string { return t.Err.Error() }

// Unwrap makes the cause visible to errors.As.
func (t *TooLong) Unwrap() error { return t.Err }

var (
	// exceeded matches a comparison near what is too long: a prompt, its tokens, a window.
	exceeded = pattern.Lazy(`(?i)request too large|exceed_context|context_length_exceeded|reduce the length|less than \d+ tokens|tokens?\W* must be <=|range of input length|` +
		`(?:context|prompt|\binput|\btokens?|\bsequence)[^"]{0,80}?(?:exceed|too long|too large|(?:larg|long|great)er than|overflow|not possible)|` +
		`(?:exceed|too (?:long|many)|(?:larg|long|great)er than|longer|\bover\b|maximum|only \d)[^."]{0,60}?(?:context|prompt|\binput\b|\btokens?\b|\bsequence)`)
	// ofOther matches limits of answers, of a time or of one argument. tooLarge matches texts
	// that are about the prompt although they name such a limit.
	ofOther    = pattern.Lazy(`(?i)(?:most|supports|number of) (?:\d+ )?(?:output|completion) tokens|rate.?limit (?:of|reached|exceeded)|per (?:minute|day|second|min)\b|context (?:deadline|cancel)|input should be|string too long`)
	tooLarge   = pattern.Lazy(`(?i)request too large|maximum context`)
	windowSize = pattern.Lazy(`(?i)"?n_ctx"?\s*[:=]\s*"?(\d+)|(?:(?:context|prompt) (?:length|size|window)|max_model_len|limit (?:is|of)|tokens? limit|tokens allowed|less than|cannot exceed)\D{0,30}?(\d{4,})|` +
		`(\d{3,})\s+maximum|limit:? (\d{3,}), requested|(?:<=|\+ \d+ >) (\d{3,})|\[\d, ?(\d{3,})\]|of (?:input )?tokens \((\d{3,})\)`)
)

// ofCaller reports whether a status refuses the caller, or says that the service is busy.
func ofCaller(status int) bool {
	return status >= http.StatusUnauthorized && status <= http.StatusForbidden || status > http.StatusInternalServerError
}

// tooLong turns the refusal of a prompt that is too long into a TooLong, which neither
// waiting nor another form cures. Any other error is unchanged.
func tooLong(err error) error {
	var refused *reasoning.Refused
	if !errors.As(err, &refused) || refused.Status/100 != 4 && refused.Status/100 != 5 && refused.Status != 0 || ofCaller(refused.Status) || !exceeded().MatchString(refused.Body) ||
		(ofOther().MatchString(refused.Body) || refused.Status == http.StatusTooManyRequests) && !tooLarge().MatchString(refused.Body) {
		return err
	}
	made := &TooLong{Err: refused.Err}
	for _, found := range windowSize().FindStringSubmatch(refused.Body) {
		if size, err := strconv.Atoi(found); err == nil {
			made.Window = size
		}
	}
	return made
}
