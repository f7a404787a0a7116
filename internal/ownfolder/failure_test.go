package ownfolder_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/ownfolder"
	"savant/test/golden"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What reaches a client has what failed, why and what to do, and no path of the
// machine.
func TestFailuresSayWhatToDoAndNoPath(t *testing.T) {
	const name = ".savant/sessions/r.journal"
	full := &fs.PathError{Op: "write", Path: "/home/ada/project/" + name, Err: syscall.ENOSPC}
	err := ownfolder.NotSaved(name, full)
	messages := map[string]string{"write, the disk is full": err.Details}
	require.ErrorIs(t, err, fault.StateNotSaved)
	require.ErrorIs(t, err, syscall.ENOSPC)

	moved := &os.LinkError{Op: "rename", Old: "/home/ada/a", New: "/home/ada/b", Err: syscall.EACCES}
	err = ownfolder.NotRead(name, errors.Join(moved))
	messages["read, permission denied"] = err.Details
	require.ErrorIs(t, err, fault.Internal)
	require.ErrorIs(t, err, fs.ErrPermission)

	err = ownfolder.NotRead(name, &fs.PathError{Op: "open", Path: "/home/ada", Err: errors.New("path escapes from parent")})
	messages["read, outside of the folder"] = err.Details
	require.ErrorIs(t, err, fault.ToolFailed, "a clone can bring it")

	for _, message := range messages {
		require.Contains(t, message, name)
		require.NotContains(t, message, "/home/ada")
	}
	golden.Messages(t, *update, "testdata/failures.golden", messages)
}
