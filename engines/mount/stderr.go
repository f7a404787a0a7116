package mount

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"savant/fault"
	"savant/internal/redact"
)

const (
	// maxLogLine is the maximum length of a logged stderr line, in bytes.
	maxLogLine = 500
	// linesPerMinute is how many lines are logged per minute; the rest is counted.
	linesPerMinute = 60
)

// logStderr logs a server's stderr until it ends.
func logStderr(in io.Reader, server string, hidden *redact.Redactor, logger *slog.Logger) {
	lines := bufio.NewReaderSize(in, 4096)
	minute, logged, dropped := time.Now(), 0, 0
	for ended := false; !ended; {
		text, err := boundedLine(lines)
		ended = err != nil
		over := time.Since(minute) >= time.Minute
		if over {
			minute, logged = time.Now(), 0
		}
		switch {
		case text == "":
		case logged < linesPerMinute:
			logged++
			logger.Info("a server says", "server", server, "line", fault.Cut(plainText(hidden.Text(text)), maxLogLine))
		default:
			dropped++
		}
		if dropped > 0 && (over || ended) {
			logger.Info("a server wrote too much for the log", "server", server, "lines", dropped)
			dropped = 0
		}
	}
}

// boundedLine returns a line, truncated if it is long.
func boundedLine(in *bufio.Reader) (string, error) {
	part, err := in.ReadSlice('\n')
	text := strings.TrimRight(string(part), "\r\n")
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	return text, err
}

// plainText replaces control characters: logs are read at a terminal.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
