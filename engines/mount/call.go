package mount

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// maxErrorText is the maximum length of a failed tool's text in an error, in bytes.
const maxErrorText = 4000

// maxViolation is the maximum length of a validation error, in bytes.
const maxViolation = 500

// notYet is the function of a tool that is only validated.
func notYet(context.Context, engines.Call, json.RawMessage) (any, error) {
	return nil, fault.New(fault.EngineOffline, "the server has not started yet")
}

// caller returns the function that calls a tool by the server's name for it. check, if
// not nil, validates results against the published output schema: clients refuse
// results that do not fit.
func (s *server) caller(tool string, check func(json.RawMessage) error) func(context.Context, engines.Call, json.RawMessage) (any, error) {
	return func(ctx context.Context, call engines.Call, args json.RawMessage) (any, error) {
		result, err := s.invoke(ctx, call.Progress, tool, args)
		if errors.Is(err, mcpclient.ErrSessionOver) { // the call had no effect: repeat it once in a new session
			result, err = s.invoke(ctx, call.Progress, tool, args)
		}
		if err != nil {
			return nil, err
		}
		content, err := s.content(tool, result)
		if err == nil && check != nil {
			err = s.checkOutput(check, tool, content, result)
		}
		if err != nil {
			return nil, err
		}
		return content, nil
	}
}

// checkOutput returns TOOL_FAILED, with the reason and the result's text, if a result
// does not fit the output schema. Many servers give it as text alone.
func (s *server) checkOutput(check func(json.RawMessage) error, tool string, content engines.Content, result mcpclient.CallResult) error {
	said := fault.Cut(s.launch.secrets.Text(result.Text()), maxErrorText)
	if len(content.Structured) == 0 {
		return fault.New(fault.ToolFailed, "%s: its answer does not fit its output schema; it says: %s", tool, said)
	}
	if err := check(content.Structured); err != nil {
		return fault.New(fault.ToolFailed, "%s: its answer does not fit its output schema: %s; it says: %s", tool,
			fault.Cut(s.launch.secrets.Text(fault.From(err).Message()), maxViolation), said)
	}
	return nil
}

// invoke calls a tool of the running server.
func (s *server) invoke(ctx context.Context, progress func(done, total float64, message string), tool string, args json.RawMessage) (mcpclient.CallResult, error) {
	live, err := s.ready(ctx, tool)
	if errors.Is(err, fault.ToolChanged) && s.refresh() == nil { // another process may have accepted it meanwhile
		live, err = s.ready(ctx, tool)
	}
	if err != nil {
		return mcpclient.CallResult{}, err
	}
	result, err := live.client.Invoke(ctx, tool, args, progress)
	switch {
	case err == nil:
		s.succeeded()
		return result, nil
	case ctx.Err() != nil:
		s.pingOrEnd(live)
		var skipped *mcpclient.SkippedLineError
		if errors.As(err, &skipped) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return mcpclient.CallResult{}, fault.New(fault.ToolTimeout, "%s was not answered in time; the server printed a line that is no message: %q", tool, skipped.Line).OutcomeUnknown()
		}
		return mcpclient.CallResult{}, ctx.Err()
	}
	return mcpclient.CallResult{}, s.failure(live, tool, err)
}

// ready returns the session of the server once the tool may be called. It lists the
// tools again if the list is old, since not every server announces changes.
func (s *server) ready(ctx context.Context, tool string) (*session, error) {
	live, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	if s.outdated(live) {
		if err := s.relist(live); err != nil {
			return nil, s.failure(live, tool, err)
		}
	}
	return live, s.refusal(tool)
}

// notBegun returns the error of a call that timed out while the server was starting.
func (s *server) notBegun(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.ToolTimeout, "%s was still starting when the call timed out; it was not called", s.entry.name)
	}
	return ctx.Err()
}

// failure codes an error between the server and Savant, and decides whether the session
// continues.
func (s *server) failure(live *session, tool string, err error) error {
	coded, code := fault.From(err), fault.ToolFailed // codes of another server mean nothing here
	details := s.launch.hidden.Text(coded.Message())
	if !live.alive() {
		live.close()
		return fault.New(fault.EngineOffline, "%s ended before it answered %s%s; it is not known whether the call had an effect", s.entry.name, tool, live.process.lastWords()).OutcomeUnknown()
	}
	switch {
	case errors.Is(err, mcpclient.ErrSessionOver):
		s.drop(live)
		return err
	case coded.Code == fault.EngineOffline:
		s.unreachable(live, coded)
		code = coded.Code
	default: // it answers
		s.succeeded()
	}
	failed := fault.New(code, "%s: %s", tool, fault.Cut(details, maxErrorText))
	if _, unknown := coded.Extra["outcome"]; unknown {
		failed.OutcomeUnknown()
	}
	return failed
}

// content returns the result of a tool, see engines.NewContent. A failed tool is TOOL_FAILED with its text.
func (s *server) content(tool string, result mcpclient.CallResult) (engines.Content, error) {
	if result.IsError {
		text := cmp.Or(result.Text(), "it failed and gave no reason")
		return engines.Content{}, fault.New(fault.ToolFailed, "%s: %s", tool, fault.Cut(s.launch.secrets.Text(text), maxErrorText))
	}
	var blocks json.RawMessage
	if result.Content != nil {
		blocks = jsonvalue.Encoded(result.Content)
	}
	content, err := engines.NewContent(s.launch.secrets.JSON(result.Structured), s.launch.secrets.JSON(blocks))
	if err != nil {
		return content, fault.New(fault.ToolFailed, "%s: %w", tool, err)
	}
	return content, nil
}
