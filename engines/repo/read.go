package repo

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// Bounds of one call of context.read.
const (
	maxReadLines = 400
	maxReadBytes = 64 << 10
)

type readIn struct {
	Path  string `json:"path" doc:"the file, relative to the project" example:"go.mod"`
	Start int    `json:"start_line,omitempty" min:"1" doc:"first line, from 1; default 1"`
	End   int    `json:"end_line,omitempty" min:"1" doc:"last line; default 400 lines on" example:"20"`
	Repo  string `json:"repo,omitempty" doc:"a repository of SAVANT_REPOS, as search names it"`
}

// readOut is a range of a file's lines. Text keeps the file's line ends, so that a
// quotation matches.
type readOut struct {
	Path string `json:"path"`
	Text string `json:"text"`
	// StartLine and EndLine are the lines in Text, from 1; for an empty file EndLine is
	// StartLine - 1.
	StartLine  int `json:"start_line"`
	EndLine    int `json:"end_line"`
	TotalLines int `json:"total_lines"`
	// Truncated: requested lines are missing, or a single line was truncated.
	Truncated bool `json:"truncated"`
}

func (e *reader) read(ctx context.Context, in readIn) (readOut, error) {
	from, err := e.repository(in.Repo)
	if err != nil {
		return readOut{}, err
	}
	whole, err := e.text(ctx, from, in.Path)
	if err != nil {
		return readOut{}, err
	}
	lines := strings.SplitAfter(whole, "\n")
	if lines[len(lines)-1] == "" { // the text after the last line end is not a line
		lines = lines[:len(lines)-1]
	}
	start := max(1, in.Start)
	if start > max(1, len(lines)) {
		return readOut{}, invalid("start_line", fmt.Sprintf("a line up to %d, the file's last", len(lines)), fmt.Sprint(start))
	}
	if in.End != 0 && in.End < start {
		return readOut{}, invalid("end_line", fmt.Sprintf("a line from %d on", start), fmt.Sprint(in.End))
	}
	return selectLines(in, start, lines), nil
}

// selectLines returns the requested lines, as far as they fit.
func selectLines(in readIn, start int, lines []string) readOut {
	last := len(lines)
	if in.End != 0 {
		last = min(last, in.End)
	}
	out := readOut{Path: path.Clean(in.Path), StartLine: start, EndLine: start - 1, TotalLines: len(lines)}
	var taken strings.Builder
	for _, line := range lines[min(start-1, len(lines)):last] {
		if out.EndLine-start+1 == maxReadLines || taken.Len() > 0 && taken.Len()+len(line) > maxReadBytes {
			out.Truncated = true
			break
		}
		if len(line) > maxReadBytes {
			line, out.Truncated = strings.ToValidUTF8(line[:maxReadBytes], ""), true
		}
		taken.WriteString(line)
		out.EndLine++
	}
	out.Text = taken.String()
	return out
}
