package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	if out, ok := stream.(*Output); ok {
		stream = out.Writer
	}
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Coloured reports whether a stream gets colours. variable looks up the environment.
func Coloured(stream any, variable func(string) (string, bool)) bool {
	plain, set := variable("NO_COLOR")
	return Rewrites(stream, variable) && (!set || plain == "")
}

// Rewrites reports whether a stream is a terminal that can clear its last line.
func Rewrites(stream any, variable func(string) (string, bool)) bool {
	kind, _ := variable("TERM")
	return IsTerminal(stream) && kind != "dumb"
}

// ErrNoAnswer is returned by Lines.Ask if nothing was typed.
var ErrNoAnswer = errors.New("nothing was answered")

// Lines are the lines that a person types. A line typed for a withdrawn question goes
// to the next one.
type Lines struct {
	mu      sync.Mutex
	pending chan line // a read in progress, or nil
}

// line is one typed line.
type line struct {
	text string
	err  error
}

// Ask prints a question and returns the typed line without surrounding spaces. The
// error is ErrNoAnswer or that of ctx.
func (l *Lines) Ask(ctx context.Context, in io.Reader, out io.Writer, question string) (string, error) {
	fmt.Fprint(out, question)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending == nil {
		l.pending = make(chan line, 1)
		go func(read chan<- line) {
			text, err := bufio.NewReader(in).ReadString('\n')
			read <- line{text, err}
		}(l.pending)
	}
	select {
	case got := <-l.pending:
		l.pending = nil
		if got.err != nil && !errors.Is(got.err, io.EOF) || got.text == "" {
			return "", ErrNoAnswer
		}
		return strings.TrimSpace(got.text), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Confirm asks a yes-or-no question. The error is that of Lines.Ask.
func Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	return new(Lines).Confirm(ctx, in, out, question)
}

// Confirm asks a yes-or-no question.
func (l *Lines) Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	said, err := l.Ask(ctx, in, out, question+" [y/N] ")
	return strings.EqualFold(said, "y") || strings.EqualFold(said, "yes"), err
}
