package mongo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"savant/fault"
	"savant/internal/pattern"
)

// Failure is the error of a call that failed, or whose effect is unknown.
type Failure struct {
	// Host names the servers of the connection.
	Host  string
	Cause error
}

func (f *Failure) Error() string {
	return fmt.Sprintf("the database at %s: %v", f.Host, reason(f.Cause))
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// Coded gives a failure a code, says what failed, and adds advice. An error that
// already has a code is returned unchanged.
func Coded(code fault.Code, what string, err error) error {
	var coded *fault.Error
	var failed *Failure
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Internal, "%s: %w", what, err)
	case !errors.As(err, &failed):
		return fault.New(code, "%s: %w", what, err)
	case away(err):
		return fault.New(code, "%s: %w; start the database or correct MONGO_URI, then repeat the call", what, err)
	}
	return fault.New(code, "%s: %w; repeat the call when the cause is gone", what, err)
}

// failed converts the driver's error to a Failure.
func (d *Database) failed(err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Host: d.host, Cause: err}
}

// away reports whether no server could be reached, so that nothing was sent.
func away(err error) bool {
	var selection topology.ServerSelectionError
	return errors.As(err, &selection)
}

// Away reports whether a call failed because no server could be reached, it did not
// answer, or a majority did not confirm. The effect may be unknown; the same call may
// succeed later.
func Away(err error) bool {
	var failed *Failure
	if !errors.As(err, &failed) {
		return false
	}
	var exception driver.WriteException
	return away(err) || driver.IsTimeout(err) || repeatable(failed.Cause) || errors.As(err, &exception) && exception.WriteConcernError != nil
}

var (
	// errCut means that the driver closed a connection before the call was sent.
	errCut = errors.New("the connection was closed before the call was sent")
	// errNotShown means that an existing document prevented an insert but cannot be read:
	// it was removed, or a majority has not confirmed it yet.
	errNotShown = errors.New("a document of this key is there, and a majority did not confirm it")
)

// interrupted replaces an error of the driver that reads as if the caller had cancelled the call.
// The driver closes connections by cancelling them, for example after lost heartbeats.
func interrupted(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return errCut
	}
	return err
}

// repeatable reports whether a call may be sent again at once: its connection, or the one
// that it waited for, broke or took too long to open, or the servers elected another
// primary.
func repeatable(err error) bool {
	var queued topology.WaitQueueTimeoutError
	switch {
	case errors.Is(err, errCut), errors.Is(err, errNotShown), errors.As(err, &queued) && !errors.Is(err, context.Canceled):
		return true
	case away(err) || errors.Is(err, context.Canceled) || driver.IsTimeout(err):
		return false
	}
	var pool interface{ Retryable() bool } // the driver's error of a call that got no connection
	if errors.As(err, &pool) && pool.Retryable() {
		return true
	}
	var labeled driver.LabeledError
	return driver.IsNetworkError(err) || errors.As(err, &labeled) && labeled.HasErrorLabel("RetryableWriteError")
}

// reason returns the shortest description of a cause. For an unreachable server it is
// the error of the last attempt.
func reason(err error) string {
	var selection topology.ServerSelectionError
	if errors.As(err, &selection) {
		for _, server := range selection.Desc.Servers {
			if server.LastError != nil {
				return "cannot be reached: " + innermost(server.LastError).Error()
			}
		}
		return "cannot be reached"
	}
	var exception driver.WriteException
	if errors.As(err, &exception) && exception.WriteConcernError != nil {
		return "a majority did not confirm: " + exception.WriteConcernError.Message
	}
	if driver.IsTimeout(err) {
		return "did not answer in time"
	}
	return innermost(err).Error()
}

// innermost returns the error that all others wrap.
func innermost(err error) error {
	for {
		var connection topology.ConnectionError
		if errors.As(err, &connection) && connection.Wrapped != nil {
			err = connection.Wrapped
		}
		within := errors.Unwrap(err)
		if within == nil {
			return err
		}
		err = within
	}
}

var quotedPart = pattern.Lazy(`"(?:[^"\\]|\\.)*"`)

// withoutSecrets removes what a connection string may keep secret from a text.
func withoutSecrets(text, uri string) string {
	text = strings.ReplaceAll(text, uri, "the URI")
	address, err := url.Parse(uri)
	if err != nil { // what is quoted may be a part of the password
		return quotedPart().ReplaceAllString(text, `"[redacted]"`)
	}
	if address.User != nil {
		if password, set := address.User.Password(); set && password != "" {
			text = strings.ReplaceAll(text, password, "[redacted]")
		}
	}
	return text
}
