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
	// maxLogLine is how much of a line of a server's stderr is logged, in bytes.
	maxLogLine = 500
	// linesPerMinute is how many of its lines are logged; the rest is counted.
	linesPerMinute = 60
)

// logStderr logs what a server writes to its stderr until that ends.
func logStderr(in io.Reader, server string, hidden *redact.Redactor, logger *slog.Logger) {
	lines := bufio.NewReaderSize(in, 4096)
	var minute time.Time
	logged, dropped := 0, 0
	for {
		text, err := boundedLine(lines)
		if now := time.Now(); now.Sub(minute) >= time.Minute {
			if dropped > 0 {
				logger.Info("a server wrote more than is logged", "server", server, "lines", dropped)
			}
			minute, logged, dropped = now, 0, 0
		}
		switch {
		case text == "":
		case logged < linesPerMinute:
			logged++
			logger.Info("a server says", "server", server, "line", fault.Cut(plainText(hidden.Text(text)), maxLogLine))
		default:
			dropped++
		}
		if err != nil {
			break
		}
	}
	if dropped > 0 {
		logger.Info("a server wrote more than is logged", "server", server, "lines", dropped)
	}
}

// boundedLine returns a line, cut if it is long.
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
