package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/regular"
)

// maxArguments bounds the size of a file or stdin: the same as a line of the protocol.
const maxArguments = 32 << 20

// ArgumentsOf returns the value of a flag: JSON, @FILE or - for stdin.
func (p *Program) ArgumentsOf(flag, given string) (json.RawMessage, error) {
	raw := []byte(given)
	name, isFile := strings.CutPrefix(given, "@")
	if isFile || given == "-" {
		var err error
		if raw, err = p.Read(flag, name, maxArguments); err != nil {
			return nil, err
		}
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, UsageError(flag + ": expected JSON, got nothing")
	}
	if !utf8.Valid(raw) {
		return nil, UsageError(flag + " is not JSON: text is not UTF-8")
	}
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return nil, UsageError(flag + " is not JSON: " + err.Error())
	}
	return raw, nil
}

// Read returns the content of a flag's file, or of stdin for -, of at most limit bytes.
func (p *Program) Read(flag, name string, limit int64) ([]byte, error) {
	data, err := p.ReadFile(name, limit)
	switch {
	case errors.Is(err, fault.LimitExceeded):
		return nil, fault.New(fault.LimitExceeded, "%s: more than %d bytes", flag, limit)
	case err != nil:
		return nil, UsageError(flag + ": " + fault.From(err).Message())
	}
	return data, nil
}

// ReadFile returns the content of a file, or of stdin for -: LIMIT_EXCEEDED beyond limit bytes.
func (p *Program) ReadFile(name string, limit int64) ([]byte, error) {
	source, closeFile, err := p.Readable(name)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	var data bytes.Buffer
	if file, ok := source.(*os.File); ok {
		if info, err := file.Stat(); err == nil {
			data.Grow(int(min(info.Size(), limit)) + bytes.MinRead) // a large file is not copied as it grows
		}
	}
	size, err := data.ReadFrom(io.LimitReader(source, limit+1))
	switch {
	case err != nil:
		return nil, fault.New(fault.InvalidParams, "%s cannot be read: %w", name, fault.WithoutPath(err))
	case size > limit:
		return nil, fault.New(fault.LimitExceeded, "%s has more than %d bytes", name, limit)
	}
	return data.Bytes(), nil
}

// WriteFile replaces a file in a folder that is there, whole or not at all.
func WriteFile(name string, content []byte, mode fs.FileMode) error {
	folder, err := regular.OpenFolder(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(atomicfile.Write(folder, filepath.Base(name), content, mode), folder.Close())
}

// Readable opens a regular file, or stdin for -.
func (p *Program) Readable(file string) (from io.Reader, closeFile func(), err error) {
	if file == "-" {
		return p.Stdin, func() {}, nil
	}
	opened, err := regular.OpenPath(file)
	var failed *fs.PathError
	switch {
	case errors.Is(err, syscall.EISDIR):
		return nil, nil, fault.New(fault.InvalidParams, "%s: expected a file, got a folder", file)
	case errors.Is(err, regular.ErrIrregular): // such as a pipe, which nobody may ever write to
		return nil, nil, fault.New(fault.InvalidParams, "%s: %w; - reads stdin", file, regular.ErrIrregular)
	case errors.As(err, &failed):
		return nil, nil, fault.New(fault.InvalidParams, "%s: %w", file, failed.Err)
	case err != nil:
		return nil, nil, fault.From(err)
	}
	return opened, func() { _ = opened.Close() }, nil // it was only read
}

// Age parses the value of a flag: a number of days or weeks, or a Go duration.
func Age(flag, text string) (time.Duration, error) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	for suffix, unit := range units {
		digits, ok := strings.CutSuffix(text, suffix)
		if number, err := strconv.Atoi(digits); ok && err == nil && number >= 0 && number < 36500 {
			return time.Duration(number) * unit, nil
		}
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return age, nil
	}
	return 0, UsageError(fmt.Sprintf("%s: expected an age such as 30d, 2w or 12h, got %q", flag, fault.Cut(text, 60)))
}

// Agree asks the person before files are written, unless yes. others are further ways,
// where nobody can be asked.
func (p *Program) Agree(ctx context.Context, yes bool, question, others string) error {
	if yes {
		return nil
	}
	if !terminal.IsTerminal(p.Stdin) {
		return UsageError("nobody can be asked here, so nothing was written; --yes writes without asking" + others)
	}
	if agreed, _ := terminal.Confirm(ctx, p.Stdin, p.Stdout, question); !agreed { // an interrupt is a no
		fmt.Fprintln(p.Stderr, "savant: nothing was written")
		return StatusError(ExitFailed)
	}
	return nil
}
