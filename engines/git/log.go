package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"savant/fault"
	"savant/internal/pattern"
)

type logIn struct {
	Repo   string   `json:"repo,omitempty" doc:"Folder in the repository; default: the allowed root."`
	Ref    string   `json:"ref,omitempty" doc:"Commit, branch or tag to start at; default HEAD."`
	From   string   `json:"from,omitempty" doc:"Leave out this commit and its ancestors."`
	Paths  []string `json:"paths,omitempty" doc:"Only commits that change these, relative to the repository's top."`
	Limit  int      `json:"limit,omitempty" min:"1" max:"1000" doc:"Most commits to return; default 20." example:"5"`
	Skip   int      `json:"skip,omitempty" min:"0" doc:"Commits to pass over first."`
	Author string   `json:"author,omitempty" doc:"Only commits whose author has this in name or email."`
	Text   string   `json:"text,omitempty" doc:"Only commits with this in the message."`
	Since  string   `json:"since,omitempty" doc:"Only commits after this date, 2026-07-28 or RFC 3339."`
	Until  string   `json:"until,omitempty" doc:"Only commits before this date."`
	Files  bool     `json:"files,omitempty" doc:"Also list the paths each commit changed."`
	// Authors counts all matching commits, regardless of limit and skip.
	Authors bool `json:"authors,omitempty" doc:"Also count the commits of each author, over all that fit."`
}

type history struct {
	Commits []commit `json:"commits"`
	// Authors is sorted by number of commits, largest first.
	Authors   []author `json:"authors,omitempty"`
	Truncated bool     `json:"truncated"`
	Note      string   `json:"note,omitempty"`
}

// author is an author of commits; .mailmap joins the names of one person.
type author struct {
	Name    string `json:"name"`
	Email   string `json:"email"`
	Commits int    `json:"commits"`
}

// commit is one commit; Date is the author's, RFC 3339.
type commit struct {
	Hash    string   `json:"hash"`
	Short   string   `json:"short"`
	Parents []string `json:"parents"`
	Author  string   `json:"author"`
	Email   string   `json:"email"`
	Date    string   `json:"date"`
	Subject string   `json:"subject"`
	Body    string   `json:"body,omitempty"`
	Files   []string `json:"files,omitempty"`
}

// commitFormat prints the fields of a commit, each terminated by NUL (the last one by
// -z).
const (
	commitFormat = "--format=%H%x00%h%x00%P%x00%an%x00%ae%x00%aI%x00%s%x00%b"
	commitFields = 8
)

func (e *engine) log(ctx context.Context, in logIn) (history, error) {
	r, err := e.open(ctx, in.Repo)
	if err != nil {
		return history{}, err
	}
	return r.log(ctx, in)
}

func (r *repository) log(ctx context.Context, in logIn) (history, error) {
	limit := cmp.Or(in.Limit, 20)
	selected, err := r.selectedCommits(ctx, in)
	if err != nil || selected == nil {
		return history{Commits: []commit{}}, err
	}
	out, err := r.run(ctx, "", slices.Concat([]string{"log", "-z", commitFormat, "--no-show-signature",
		"--max-count=" + strconv.Itoa(limit+1), "--skip=" + strconv.Itoa(in.Skip)}, selected)...)
	if err != nil {
		return history{}, err
	}
	made := history{Commits: parseCommits(out.Records())}
	switch {
	case len(made.Commits) > limit:
		made.Commits = made.Commits[:limit]
		made.truncate(fmt.Sprintf("there are more than these %d commits", limit))
	case out.Cut:
		made.truncate(fmt.Sprintf("cut at %d bytes", maxBytes))
	case r.shallow():
		made.Note = shallowNote
	}
	if in.Files {
		err = r.addFiles(ctx, &made)
	}
	if in.Authors {
		err = errors.Join(err, r.countAuthors(ctx, selected, &made))
	}
	return made, err
}

// countAuthors counts the authors of the selected commits.
func (r *repository) countAuthors(ctx context.Context, selected []string, h *history) error {
	out, err := r.run(ctx, "", slices.Concat([]string{"shortlog", "--summary", "--numbered", "--email"}, selected)...)
	if err != nil {
		return err
	}
	lines := strings.Split(string(out.Data), "\n")
	for _, line := range lines[:len(lines)-1] {
		count, person, _ := strings.Cut(strings.TrimSpace(line), "\t")
		number, err := strconv.Atoi(count)
		at := strings.LastIndex(person, " <")
		if err != nil || at < 0 {
			return fault.New(fault.ToolFailed, "git shortlog printed a line without a count: %q", line)
		}
		h.Authors = append(h.Authors, author{Name: person[:at], Email: strings.TrimSuffix(person[at+2:], ">"), Commits: number})
	}
	if out.Cut {
		h.truncate("not all authors are listed")
	}
	return nil
}

func (h *history) truncate(note string) {
	if h.Truncated {
		note = h.Note + "; " + note
	}
	h.Truncated, h.Note = true, note
}

// selectedCommits returns the git arguments that select commits; nil for a repository
// without commits.
func (r *repository) selectedCommits(ctx context.Context, in logIn) ([]string, error) {
	paths, err := inTree("paths", in.Paths...)
	if err != nil {
		return nil, err
	}
	args, err := filters(in)
	if err != nil {
		return nil, err
	}
	start := ""
	if in.Ref == "" || in.Ref == "HEAD" {
		start, err = r.head(ctx)
	} else {
		start, err = r.commit(ctx, "ref", in.Ref)
	}
	if err != nil || start == "" {
		return nil, err
	}
	if in.From != "" {
		from, err := r.commit(ctx, "from", in.From)
		if err != nil {
			return nil, err
		}
		args = append(args, "^"+from)
	}
	args = append([]string{"--fixed-strings", "--regexp-ignore-case"}, args...)
	return append(append(args, start, "--"), paths...), nil
}

var dated = pattern.Lazy(`^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(Z|[+-]\d{2}:\d{2}))?$`)

// filters returns options with a caller's text after "=", where it cannot be an option.
// Dates are validated, since git takes an invalid one for now.
func filters(in logIn) ([]string, error) {
	var args []string
	for _, f := range []struct{ argument, option, value string }{
		{"author", "--author=", in.Author}, {"text", "--grep=", in.Text}, {"since", "--since=", in.Since}, {"until", "--until=", in.Until},
	} {
		switch {
		case f.value == "":
			continue
		case strings.ContainsFunc(f.value, unicode.IsControl):
			return nil, invalid(f.argument, "one line of text", f.value)
		case (f.argument == "since" || f.argument == "until") && !dated().MatchString(f.value):
			return nil, invalid(f.argument, "a date: 2026-07-28 or 2026-07-28T10:00:00Z", f.value)
		}
		args = append(args, f.option+f.value)
	}
	return args, nil
}

func parseCommits(fields []string) []commit {
	commits := []commit{}
	for ; len(fields) >= commitFields; fields = fields[commitFields:] {
		commits = append(commits, commit{
			Hash: fields[0], Short: fields[1], Parents: strings.Fields(fields[2]), Author: fields[3], Email: fields[4],
			Date: fields[5], Subject: fields[6], Body: strings.TrimSpace(fields[7]),
		})
	}
	return commits
}

// addFiles gets the paths of all commits with one call; those of a merge are relative
// to its first parent.
func (r *repository) addFiles(ctx context.Context, h *history) error {
	var asked strings.Builder
	for _, c := range h.Commits {
		asked.WriteString(c.Hash + "\n")
	}
	out, err := r.run(ctx, asked.String(), "diff-tree", "--stdin", "-r", "-z", "--root", "--name-only", "--diff-merges=first-parent", "--no-renames")
	if err != nil {
		return err
	}
	next := 0
	for _, field := range out.Records() {
		switch {
		case next < len(h.Commits) && field == h.Commits[next].Hash:
			next++
		case next > 0:
			h.Commits[next-1].Files = append(h.Commits[next-1].Files, field)
		}
	}
	if out.Cut {
		h.truncate(fmt.Sprintf("files are listed for the first %d commits only", next))
	}
	return nil
}
