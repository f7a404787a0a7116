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
)

// Failure is a call that the database did not carry out, or of which nobody knows
// whether it did.
type Failure struct {
	// Host is the servers that were asked.
	Host  string
	Cause error
}

func (f *Failure) Error() string {
	return fmt.Sprintf("the database at %s: %v", f.Host, reason(f.Cause))
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// Coded returns a failure under a code, with what could not be done and what to do.
// An error that has a code stays as it is.
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

// failed makes a Failure of an error of the driver.
func (d *Database) failed(err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Host: d.host, Cause: err}
}

// away reports that no server could be reached, so that nothing was sent.
func away(err error) bool {
	var selection topology.ServerSelectionError
	return errors.As(err, &selection)
}

// Away reports that a call came to nothing, or nobody knows to what, because no server
// could be reached, it did not answer, or a majority did not confirm: the same call may
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
	// errCut says that the driver gave a connection up before the call was sent over it.
	errCut = errors.New("the connection was closed before the call was sent")
	// errNotShown says that a document is in the way which readers do not see: it was
	// removed, or a majority does not have it yet.
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

// repeatable reports that a call may be sent again at once: its connection broke, or that
// of another call did before this one had any, or took too long to make, or the servers
// elected another primary meanwhile.
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

// reason is the shortest text that says why. Of a server that could not be reached
// it is what happened at the last attempt.
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

// withoutSecrets removes what a connection string may keep secret from a text.
func withoutSecrets(text, uri string) string {
	text = strings.ReplaceAll(text, uri, "the URI")
	if parsed, err := url.Parse(uri); err == nil && parsed.User != nil {
		if password, set := parsed.User.Password(); set && password != "" {
			text = strings.ReplaceAll(text, password, "[redacted]")
		}
	}
	return text
}
