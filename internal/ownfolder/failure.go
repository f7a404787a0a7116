package ownfolder

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"savant/fault"
	"savant/internal/regular"
)

// NotSaved returns STATE_NOT_SAVED for a file or folder that could not be written; name
// is relative to SAVANT_PATH. The details reach clients: they have the cause without
// its path, and advice.
func NotSaved(name string, cause error) *fault.Error {
	return withAdvice(fault.StateNotSaved, name+" was not saved", cause)
}

// NotRead returns INTERNAL for an existing file or folder that could not be read, with
// details like those of NotSaved: TOOL_FAILED if something else is in its place.
func NotRead(name string, cause error) *fault.Error {
	code := fault.Internal
	if AdviceOn(cause) == inPlace {
		code = fault.ToolFailed
	}
	return withAdvice(code, name+" cannot be read", cause)
}

// Displaced reports whether something else is in the place of a folder, as a clone can
// bring it: a file, a pipe, or a link that leads nowhere, out of SAVANT_PATH, or to itself.
func Displaced(cause error) bool {
	return errors.Is(cause, syscall.ENOTDIR) || errors.Is(cause, syscall.ELOOP) || escapes(cause)
}

// escapes reports whether os.Root refused a path, for which there is no exported error.
func escapes(cause error) bool {
	var onPath *fs.PathError
	return errors.As(cause, &onPath) && onPath.Err.Error() == "path escapes from parent"
}

// NotOpened returns TOOL_FAILED for a configured folder that can no longer be read.
func NotOpened(called string, cause error) *fault.Error {
	advice := "check its permissions and its disk"
	if errors.Is(cause, fs.ErrNotExist) || errors.Is(cause, syscall.ENOTDIR) {
		advice = "it was moved or deleted: put it back, or start Savant with its new path"
	}
	return fault.New(fault.ToolFailed, "%s cannot be read: %w; %s", called, Reason(cause), advice)
}

func withAdvice(code fault.Code, what string, cause error) *fault.Error {
	failure := fault.New(code, "%s: %w", what, reason{cause})
	if strings.HasPrefix(what, State+"/") && Displaced(cause) { // the cause does not say which
		failure.Details += "; something else is in the place of " + State + " or of a folder in it: savant hook release moves " + State + " aside, and what else is there you move yourself"
	} else if advice := AdviceOn(cause); advice != "" {
		failure.Details += "; " + advice
	}
	return failure
}

// Reason returns a cause without its path.
func Reason(cause error) error { return reason{cause} }

// reason is a cause without its path.
type reason struct{ cause error }

func (r reason) Error() string {
	var number syscall.Errno
	if errors.As(r.cause, &number) {
		return number.Error()
	}
	var onPath *fs.PathError
	if errors.As(r.cause, &onPath) {
		return onPath.Err.Error()
	}
	return r.cause.Error()
}

func (r reason) Unwrap() error { return r.cause }

const inPlace = "something else is in its place: move that aside, and put a copy back if there is one"

// advices has advice for causes that persist.
var advices = []struct {
	cause  error
	advice string
}{
	{fs.ErrPermission, "check the permissions and the owner of it and of the folders it is in, then repeat the call"},
	{syscall.EROFS, "mount the disk for writing, or set SAVANT_PATH to a writable folder"},
	{syscall.ENOSPC, "the disk is full: make room, then repeat the call"},
	{syscall.EDQUOT, "the disk is full: make room, then repeat the call"},
	{syscall.EIO, "the disk reports an error: read the system log, then repeat the call"},
	{syscall.EISDIR, inPlace}, {syscall.ELOOP, inPlace}, {syscall.ENOTDIR, inPlace}, {regular.ErrIrregular, inPlace},
	{syscall.EMFILE, "too many files are open: repeat the call when fewer calls run, or raise the limit (ulimit -n)"},
}

// AdviceOn returns what a person does about a cause that persists; "" for another.
func AdviceOn(cause error) string {
	if escapes(cause) {
		return inPlace
	}
	for _, each := range advices {
		if errors.Is(cause, each.cause) {
			return each.advice
		}
	}
	return ""
}
