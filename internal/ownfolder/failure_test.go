package ownfolder_test

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/ownfolder"
)

// What reaches a client has what failed, why and what to do, and no path of the
// machine.
func TestFailuresSayWhatToDoAndNoPath(t *testing.T) {
	const name = ".savant/sessions/r.journal"
	full := &fs.PathError{Op: "write", Path: "/home/ada/project/" + name, Err: syscall.ENOSPC}
	err := ownfolder.NotSaved(name, full)
	require.EqualError(t, err, "STATE_NOT_SAVED: "+name+" was not saved: no space left on device; the disk is full: make room, then repeat the call")
	require.ErrorIs(t, err, syscall.ENOSPC)

	moved := &os.LinkError{Op: "rename", Old: "/home/ada/a", New: "/home/ada/b", Err: syscall.EACCES}
	err = ownfolder.NotRead(name, errors.Join(moved))
	require.EqualError(t, err, "INTERNAL: "+name+" cannot be read: permission denied; "+
		"check the permissions and the owner of it and of the folders it is in, then repeat the call")
	require.ErrorIs(t, err, fs.ErrPermission)

	err = ownfolder.NotRead(name, &fs.PathError{Op: "open", Path: "/home/ada", Err: errors.New("path escapes from parent")})
	require.Equal(t, name+" cannot be read: path escapes from parent", err.Details)
	require.Equal(t, fault.Internal, err.Code)
}
