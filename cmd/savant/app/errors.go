package app

import (
	"errors"

	"savant/fault"
)

// ConfigurationError is an error of a setting or of the environment, before the work
// starts.
type ConfigurationError struct{ fault *fault.Error }

func (c *ConfigurationError) Error() string { return c.fault.Error() }

// Unwrap returns the coded error, for errors.As.
func (c *ConfigurationError) Unwrap() error { return c.fault }

// Misconfigured converts an error to a ConfigurationError. It keeps the code; an error
// without one gets INVALID_PARAMS.
func Misconfigured(err error) error {
	if coded := (*fault.Error)(nil); errors.As(err, &coded) {
		return &ConfigurationError{coded}
	}
	return &ConfigurationError{fault.New(fault.InvalidParams, "%w", err)}
}
