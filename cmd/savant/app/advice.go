package app

import (
	"context"
	"errors"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/think/maintenance"
)

// advisor implements engines.Advisor.
type advisor struct{}

// Hint is the hint for clients about an error of a tool. It is meant for the
// person who reads it: clients cannot repair a run.
func (advisor) Hint(tool string, failure *fault.Error) fault.Hint {
	if failure.Code == fault.UnknownTool {
		return guide.NoTool(tool)
	}
	if engine := engines.EngineOf(tool); engine != "think" && engine != "workflow" {
		return fault.Hint{}
	}
	return hintForRun(failure)
}

// hintForRun is the hint for clients about an error of a workflow's run.
func hintForRun(failure *fault.Error) fault.Hint {
	if failure.Code == fault.UnknownRun {
		return fault.Hint{Call: "think.state.list", Text: "lists the runs"}
	}
	return maintenance.OnDamage(failure)
}

// readResource reads a resource of the server, see engines.Offer.
type readResource = func(ctx context.Context, uri string) (text, mimeType string, err error)

// withHints adds hints to errors of resources, as tools have them.
func withHints(read readResource) readResource {
	return func(ctx context.Context, uri string) (string, string, error) {
		text, mimeType, err := read(ctx, uri)
		if failure := (*fault.Error)(nil); errors.As(err, &failure) {
			err = failure.Hinted(hintForRun(failure))
		}
		return text, mimeType, err
	}
}

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
