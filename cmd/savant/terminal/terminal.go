package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

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

// ErrNoAnswer is what Ask returns where nothing was typed.
var ErrNoAnswer = errors.New("nothing was answered")

// Ask prints a question and returns the line that is typed, without the spaces
// around it. The error is ErrNoAnswer or that of ctx.
func Ask(ctx context.Context, in io.Reader, out io.Writer, question string) (string, error) {
	fmt.Fprint(out, question)
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case got := <-read:
		if got.err != nil && !errors.Is(got.err, io.EOF) || got.text == "" {
			return "", ErrNoAnswer
		}
		return strings.TrimSpace(got.text), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Confirm asks a question and reports whether the answer is yes. The error is
// that of Ask.
func Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	said, err := Ask(ctx, in, out, question+" [y/N] ")
	return strings.EqualFold(said, "y") || strings.EqualFold(said, "yes"), err
}
