package mount

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"savant/fault"
	"savant/internal/pattern"
	"savant/internal/redact"
)

const (
	// maxLogLine is the maximum length of a logged stderr line, in bytes.
	maxLogLine = 500
	// linesPerMinute is how many lines are logged per minute; the rest is counted.
	linesPerMinute = 60
)

// readStderr logs a server's stderr until it ends, and keeps its last words.
func (p *process) readStderr(server string, hidden *redact.Redactor, logger *slog.Logger) {
	defer close(p.heard)
	defer p.stderr.Close()
	clean := func(text string, most int) string { return fault.Cut(hidden.Text(text), most) }
	lines := bufio.NewReaderSize(p.stderr, 4096)
	minute, logged, dropped := time.Now(), 0, 0
	for ended := false; !ended; {
		text, err := boundedLine(lines)
		text, ended = plainText(text), err != nil
		over := time.Since(minute) >= time.Minute
		if over {
			minute, logged = time.Now(), 0
		}
		switch {
		case text == "":
		case logged < linesPerMinute:
			logged++
			logger.Info("a server says", "server", server, "line", clean(text, maxLogLine))
		default:
			dropped++
		}
		if dropped > 0 && (over || ended) {
			logger.Info("a server wrote too much for the log", "server", server, "lines", dropped)
			dropped = 0
		}
		if isReason(text) {
			p.said = append(p.said[max(0, len(p.said)-maxLastLines+1):], text)
		}
	}
	for i, text := range p.said { // only here: a server may write gigabytes
		p.said[i] = clean(text, maxLastLine)
	}
}

// maxLastLines bounds how many lines are quoted of what a server wrote before it ended, and
// maxLastLine the bytes of one.
const (
	maxLastLines = 4
	maxLastLine  = 100
)

// isReason tells a line that may say why a program ends: traces of calls are indented.
func isReason(text string) bool {
	return text != "" && text[0] != ' ' && strings.ContainsFunc(text[1:], unicode.IsLetter)
}

// lastWords quotes how a server ended and what it wrote to stderr before, for an error; "" if
// neither says anything, or the server is no program. It waits for the end.
func (p *process) lastWords() (words string) {
	if p == nil {
		return ""
	}
	<-p.done
	<-p.heard
	if ended := p.command.ProcessState; ended.Exited() && !ended.Success() {
		words = " (" + ended.String() + ")"
	}
	if len(p.said) > 0 {
		words += fmt.Sprintf("; it wrote to stderr: %q", strings.Join(p.said, " / "))
	}
	return words
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

// colours matches what colours a text at a terminal.
var colours = pattern.Lazy(`\x1b\[[0-9;]*[A-Za-z]`)

// plainText takes colours off and replaces control characters: logs are read at a terminal.
func plainText(text string) string {
	text = colours().ReplaceAllString(text, "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
