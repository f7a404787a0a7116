package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
)

// FileName is the file of settings, under SAVANT_PATH. Its shape is published
// as schemas/settings.json.
const FileName = "config/settings.json"

// maxFile is the largest file of settings that is read, in bytes.
const maxFile = 1 << 20

// othersRead are the permissions of those who do not own a file to read it.
const othersRead fs.FileMode = 0o044

// file is what the file of settings holds.
type file struct {
	values  map[string]Value // by Key
	exposed bool
}

// readFile reads the file of settings under a folder; none is an empty one.
// Every value is checked, also those that another source comes before.
func readFile(folder string, table []Setting) (file, error) {
	root, err := regular.OpenFolder(folder)
	if err != nil {
		return file{}, nil // who needs the folder says what is wrong with it
	}
	defer root.Close()
	data, mode, err := readBounded(root)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // a project may have a file named config
		return file{}, nil
	}
	if err != nil {
		return file{}, err
	}
	values, err := parse(data, folder, table)
	if err != nil {
		return file{}, err
	}
	return file{values: values, exposed: holdsSecret(values) && runtime.GOOS != "windows" && mode&othersRead != 0}, nil
}

func readBounded(root *os.Root) ([]byte, fs.FileMode, error) {
	info, err := root.Stat(FileName)
	if err == nil && !info.Mode().IsRegular() {
		return nil, 0, fault.New(fault.InvalidParams, "%s: expected a file", FileName)
	}
	var data []byte
	if err == nil {
		data, err = regular.ReadFile(root, FileName, maxFile)
	}
	switch {
	case errors.Is(err, regular.ErrTooLarge):
		return nil, 0, fault.New(fault.LimitExceeded, "%s has more than %d bytes", FileName, maxFile)
	case err != nil:
		return nil, 0, unreadable(err)
	}
	return data, info.Mode(), nil
}

// unreadable leaves the path of this machine out.
func unreadable(err error) error {
	return fault.New(fault.InvalidParams, "%s cannot be read: %w", FileName, fault.WithoutPath(err))
}

func holdsSecret(values map[string]Value) bool {
	for _, value := range values {
		if value.Setting.Secret && value.Text != "" {
			return true
		}
	}
	return false
}

// byteOrderMark is what some editors begin a file with; JSON readers may skip
// it, RFC 8259, 8.1.
const byteOrderMark = "\uFEFF"

// parse reads the text of a file of settings that is in folder.
func parse(data []byte, folder string, table []Setting) (map[string]Value, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	root, err := jsonvalue.Read(data)
	var wrong *jsonvalue.Error
	if errors.As(err, &wrong) {
		return nil, complain(diagnose(data, wrong.Offset, "", "not JSON: "+wrong.Error()))
	}
	if root.Raw[0] != '{' {
		return nil, complain(diagnose(data, root.Offset, "", "expected an object, got "+kindOf(root.Raw)))
	}
	r := &reader{data: data, folder: folder, table: table, values: map[string]Value{}}
	r.object("", root)
	if len(r.wrong) > 0 {
		return nil, complain(r.wrong...)
	}
	return r.values, nil
}

// complain makes what is wrong with the file one error.
func complain(wrong ...fault.Diagnostic) *fault.Error {
	first := wrong[0]
	details := fmt.Sprintf("%s:%d:%d: %s", FileName, first.Line, first.Column, first.Message)
	if len(wrong) > 1 {
		details = fmt.Sprintf("%s (%d more)", details, len(wrong)-1)
	}
	return fault.New(fault.InvalidParams, "%s", details).With(wrong...)
}

// diagnose says what is wrong at a place of the text.
func diagnose(data []byte, offset int, path, message string) fault.Diagnostic {
	line, column := jsonvalue.Place(data, offset)
	return fault.Diagnostic{File: FileName, Path: path, Line: line, Column: column, Message: message}
}
