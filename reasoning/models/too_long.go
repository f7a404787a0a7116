package models

import (
	"errors"
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
	exceeded = pattern.Lazy(`(?i)exceed_context_size|request too large for|context_length_exceeded|maximum context|prompt is too long|(?:exceeds?|larger than|longer than|over) .{0,40}context|` +
		`context (?:length|size|window)\S* (?:was |is )?exceeded|context.{0,20}overflow|input (?:is too long|length exceeds)|maximum prompt length|input token count|too many tokens|token limit|exceeds? max(?:imum)? length|less than \d+ tokens|tokens?\W* must be <=|range of input length|reduce the length`)
	windowSize = pattern.Lazy(`(?i)"?n_ctx"?\s*[:=]\s*"?(\d+)|(?:(?:context|prompt) (?:length|size|window)|max_model_len|token limit|tokens allowed|less than|cannot exceed)\D{0,30}?(\d{3,})|(\d{3,})\s+maximum|limit:? (\d{3,}), requested|<= (\d{3,})|\[\d, ?(\d{3,})\]`)
)

// tooLong turns the refusal of a prompt that is too long into a TooLong, which neither
// waiting nor another form cures. Any other error is unchanged.
func tooLong(err error) error {
	var refused *reasoning.Refused
	if !errors.As(err, &refused) || refused.Status/100 != 4 && refused.Status/100 != 5 && refused.Status != 0 || !exceeded().MatchString(refused.Body) {
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
