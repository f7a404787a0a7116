package app

import (
	"errors"

	"savant/fault"
)

// ConfigurationError is what keeps the program from starting its work: a setting,
// or the place it runs in.
type ConfigurationError struct{ fault *fault.Error }

func (c *ConfigurationError) Error() string { return c.fault.Error() }

// Unwrap keeps the coded error visible to errors.As.
func (c *ConfigurationError) Unwrap() error { return c.fault }

// Misconfigured makes any error one of configuration. It keeps the error's
// code; an error without a code gets INVALID_PARAMS.
func Misconfigured(err error) error {
	if coded := (*fault.Error)(nil); errors.As(err, &coded) {
		return &ConfigurationError{coded}
	}
	return &ConfigurationError{fault.New(fault.InvalidParams, "%w", err)}
}
