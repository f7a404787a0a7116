package git

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/withheld"
)

type blameIn struct {
	Repo  string `json:"repo,omitempty" doc:"Folder in the repository; default: the allowed root."`
	Path  string `json:"path" doc:"File, relative to the repository's top." example:"main.go"`
	Ref   string `json:"ref,omitempty" doc:"Commit, branch or tag; default the working tree."`
	Start int    `json:"start,omitempty" min:"1" doc:"First line; default 1."`
	Lines int    `json:"lines,omitempty" min:"1" max:"5000" doc:"Most lines to return; default 500."`
}

type blamed struct {
	Lines     []blamedLine `json:"lines"`
	Truncated bool         `json:"truncated"`
	Note      string       `json:"note,omitempty"`
}

// blamedLine is a line with its last change; the hash is all zeros for an uncommitted
// change. Date is RFC 3339.
type blamedLine struct {
	Line   int    `json:"line"`
	Hash   string `json:"hash"`
	Author string `json:"author"`
	Date   string `json:"date"`
	Text   string `json:"text"`
}

func (e *engine) blame(ctx context.Context, in blameIn) (blamed, error) {
	r, err := e.open(ctx, in.Repo)
	if err != nil {
		return blamed{}, err
	}
	if r.leaks { // an error would quote a line of it
		return blamed{}, fault.New(fault.ToolDenied, "blame.ignoreRevsFile is outside the allowed roots")
	}
	paths, err := inTree("path", in.Path)
	if err != nil {
		return blamed{}, err
	}
	if e.kept.Has(paths[0]) {
		return blamed{}, withheld.DeniedError(in.Path)
	}
	start, count := cmp.Or(in.Start, 1), cmp.Or(in.Lines, 500)
	args := []string{"blame", "--porcelain", "--no-textconv", fmt.Sprintf("-L%d,+%d", start, count+1)}
	if in.Ref != "" {
		hash, err := r.commit(ctx, "ref", in.Ref)
		if err != nil {
			return blamed{}, err
		}
		args = append(args, hash)
	}
	out, err := r.run(ctx, "", append(args, "--", paths[0])...)
	if err != nil {
		if head, _ := r.head(ctx); head == "" { // else git's own reason is told
			return blamed{}, invalid("path", "a file that was committed", in.Path).Hinted(r.incomplete(ctx))
		}
		return blamed{Lines: []blamedLine{}}, beyondEnd(err, start)
	}
	made := blamed{Lines: parseBlame(string(out.Data))}
	if r.shallow() && bytes.Contains(out.Data, []byte("\nboundary\n")) {
		made.Note = shallowNote
	}
	if e.kept.Holds(paths[0], out.Data) {
		return blamed{}, withheld.DeniedError(in.Path)
	}
	if len(made.Lines) > count || out.Cut {
		made.Lines = made.Lines[:min(count, len(made.Lines))]
		made.Truncated, made.Note = true, strings.TrimPrefix(fmt.Sprintf("%s; %d lines from line %d; start at a later line for the rest", made.Note, len(made.Lines), start), "; ")
	}
	return made, nil
}

// beyondEnd returns INVALID_PARAMS if git refused a start after the last line. Line 1
// of an empty file is not an error.
func beyondEnd(err error, start int) error {
	if !isExitError(err) || !strings.Contains(fault.From(err).Message(), " has only ") {
		return err
	}
	if start == 1 {
		return nil
	}
	return invalid("start", "a line of the file", strconv.Itoa(start))
}

// origin describes a commit. Blame prints it once per commit.
type origin struct {
	author, zone string
	seconds      int64
}

// parseBlame parses `git blame --porcelain`. Each line has a header with its commit,
// the description of the commit if it is the commit's first line, and the text after a
// tab. An incomplete last line is omitted.
func parseBlame(text string) []blamedLine {
	lines, origins := []blamedLine{}, map[string]*origin{}
	var hash string
	number := 0
	for line := range strings.Lines(text) {
		complete := strings.HasSuffix(line, "\n")
		line = strings.TrimSuffix(line, "\n")
		switch word, rest, _ := strings.Cut(line, " "); {
		case strings.HasPrefix(line, "\t"):
			from := origins[hash]
			if from != nil && complete {
				lines = append(lines, blamedLine{Line: number, Hash: hash, Author: from.author, Date: from.date(), Text: line[1:]})
			}
			hash = ""
		case hash == "":
			hash, number = word, finalLine(rest)
			if origins[hash] == nil {
				origins[hash] = &origin{}
			}
		case word == "author":
			origins[hash].author = rest
		case word == "author-time":
			origins[hash].seconds, _ = strconv.ParseInt(rest, 10, 64)
		case word == "author-tz":
			origins[hash].zone = rest
		}
	}
	return lines
}

// finalLine reads the second number of "12 34 2".
func finalLine(numbers string) int {
	fields := strings.Fields(numbers)
	if len(fields) < 2 {
		return 0
	}
	number, _ := strconv.Atoi(fields[1])
	return number
}

// date returns the author's date in the author's time zone.
func (o *origin) date() string {
	at := time.Unix(o.seconds, 0).UTC()
	if zone, err := time.Parse("-0700", o.zone); err == nil {
		at = at.In(zone.Location())
	}
	return at.Format(time.RFC3339)
}
