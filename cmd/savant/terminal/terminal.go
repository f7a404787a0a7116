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

// Is reports whether a stream is one that a person sits at.
func Is(stream any) bool {
	if out, ok := stream.(*Output); ok {
		stream = out.Writer
	}
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Coloured reports whether to write colours to a stream. variable looks up the
// environment.
func Coloured(stream any, variable func(string) (string, bool)) bool {
	plain, set := variable("NO_COLOR")
	kind, _ := variable("TERM")
	return Is(stream) && (!set || plain == "") && kind != "dumb"
}

// ErrNoAnswer is what Lines.Ask returns where nothing was typed.
var ErrNoAnswer = errors.New("nothing was answered")

// Lines are those that a person types. A question that was taken back leaves its line
// to the next one.
type Lines struct {
	mu      sync.Mutex
	pending chan line // being read; nil: none is
}

// line is what was typed.
type line struct {
	text string
	err  error
}

// Ask prints a question and returns the line that is typed, without the spaces
// around it. The error is ErrNoAnswer or that of ctx.
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

// Confirm asks a question and reports whether the answer is yes. The error is
// that of Lines.Ask.
func Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	return new(Lines).Confirm(ctx, in, out, question)
}

// Confirm is Confirm with the lines that a person types.
func (l *Lines) Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	said, err := l.Ask(ctx, in, out, question+" [y/N] ")
	return strings.EqualFold(said, "y") || strings.EqualFold(said, "yes"), err
}
