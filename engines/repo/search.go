package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"

	"savant/engines"
	"savant/engines/repo/files"
	"savant/engines/repo/index"
	"savant/internal/withheld"
)

// SearchOptions say what can be searched.
type SearchOptions struct {
	// Path is SAVANT_PATH; Repos are further folders, as SAVANT_REPOS lists them.
	Path  string
	Repos []string
	// Withheld are the files that are never found.
	Withheld withheld.Files
	// Logger gets the progress of builds; nil discards it.
	Logger *slog.Logger
}

// Search holds the tools context.search, context.fts_search and context.index. An index
// is opened on first use and kept until Close.
type Search struct {
	logger *slog.Logger
	known  []repository
	repos  []*searched // of known, in the same order
}

// searched is one folder with its index.
type searched struct {
	name    string // "" for SAVANT_PATH
	project string // SAVANT_PATH
	known   []repository
	options index.Options
	mutex   sync.Mutex
	index   *index.Index
}

// NewSearch returns the tools; nothing is opened yet.
func NewSearch(options SearchOptions) *Search {
	s := &Search{logger: options.Logger, known: repositories(options.Path, options.Repos)}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	for _, each := range s.known {
		s.repos = append(s.repos, &searched{name: each.name, project: options.Path, known: s.known, options: index.Options{Folder: each.folder, Withheld: options.Withheld}})
	}
	return s
}

// Close closes the indexes. s may be nil. No call may be under way.
func (s *Search) Close() error {
	if s == nil {
		return nil
	}
	var failed error
	for _, each := range s.repos {
		if each.index != nil {
			failed = errors.Join(failed, each.index.Close())
		}
	}
	return failed
}

// Tools returns the three tools. Their errors are INVALID_PARAMS (an invalid query or
// pattern, an unknown repo), LIMIT_EXCEEDED (the query is too long) and TOOL_FAILED (an
// unreadable folder, an unwritable index).
func (s *Search) Tools() []engines.Tool {
	return []engines.Tool{
		engines.BindReadingCall("context.search", "Search files", s.search,
			"Searches the project's files for a question or some words, best first: files with all the words, and those that define them, "+
				"before those with some. Understands \"phrases\" and prefix*; readFile finds read_file too. Lines are read from the files as they are now."),
		engines.BindReadingCall("context.fts_search", "Search files by expression", s.ftsSearch,
			"Searches the project's files for an expression: every word is needed; AND, OR, NOT, ( ), \"phrases\" and prefix* have their meaning."),
		engines.BindReadingCall("context.index", "Search index", s.indexTool,
			"Says what the search index holds: files, bytes, what was skipped and why, its size and age; action refresh brings it up to date first."),
	}
}

type searchIn struct {
	Query    string   `json:"query,omitempty" doc:"What to look for." example:"retry limit"`
	Q        string   `json:"q,omitempty" list:"no" doc:"The same as query."`
	Limit    int      `json:"limit,omitempty" min:"1" max:"50" doc:"Most rows to return; default 10."`
	PerFile  int      `json:"per_file,omitempty" min:"1" max:"5" doc:"Most rows of one file; default 1."`
	Counts   bool     `json:"counts,omitempty" doc:"Also say how many files have each word: a word of few files says most."`
	Paths    []string `json:"paths,omitempty" doc:"Only files in these folders or fitting these globs: src, *.md, cmd/**/*_test.go."`
	Language string   `json:"language,omitempty" doc:"Only files of this language, or of several separated by commas: go, python, markdown."`
	Repo     string   `json:"repo,omitempty" doc:"Only this repository of SAVANT_REPOS; . is the project itself; default all."`
}

type searchOut struct {
	Counts *searchCounts `json:"counts,omitempty"`
	Rows   []searchRow   `json:"rows"`
	Note   string        `json:"note,omitempty"`
}

// searchCounts counts the searched files, and those that contain each word of the
// query.
type searchCounts struct {
	Files int            `json:"files"`
	Words map[string]int `json:"words"`
}

type searchRow struct {
	Repo    string  `json:"repo,omitempty"`
	Path    string  `json:"path"`
	Line    int     `json:"line"`
	Snippet string  `json:"snippet"`
	Score   float64 `json:"score"`
}

func (s *Search) search(ctx context.Context, call engines.Call, in searchIn) (searchOut, error) {
	return s.find(ctx, call, in, false)
}

func (s *Search) ftsSearch(ctx context.Context, call engines.Call, in searchIn) (searchOut, error) {
	return s.find(ctx, call, in, true)
}

func (s *Search) find(ctx context.Context, call engines.Call, in searchIn, literal bool) (searchOut, error) {
	query := index.Query{Text: cmp.Or(in.Query, in.Q), Literal: literal, Limit: cmp.Or(in.Limit, 10), PerFile: in.PerFile, Paths: in.Paths}
	if in.Language != "" {
		query.Languages = strings.Split(in.Language, ",")
	}
	parsed, err := index.Parse(query) // refuse a bad query before an index is built
	if err != nil {
		return searchOut{}, err
	}
	repos, err := s.repositories(in.Repo)
	if err != nil {
		return searchOut{}, err
	}
	out := searchOut{Rows: []searchRow{}}
	if in.Counts {
		out.Counts = &searchCounts{Words: map[string]int{}}
	}
	var missed unsearched
	for _, each := range repos {
		found, err := s.findIn(ctx, call, each, parsed)
		if err != nil {
			return searchOut{}, withRepositoryName(each.name, err)
		}
		for _, row := range found.Rows {
			out.Rows = append(out.Rows, searchRow{Repo: each.name, Path: row.Path, Line: row.Line, Snippet: row.Snippet, Score: row.Score})
		}
		out.Counts.add(found.Counts)
		missed.add(each.name, found, files.NotCheckedOut(ctx, each.options.Folder))
	}
	slices.SortStableFunc(out.Rows, func(a, b searchRow) int { return cmp.Compare(b.Score, a.Score) })
	out.Rows = out.Rows[:min(len(out.Rows), query.Limit)]
	out.Note = missed.note(len(out.Rows))
	return out, nil
}

// unsearched is what a search did not look at.
type unsearched struct {
	unread   index.Unread
	absent   files.Absent
	oversize []string // files of rules, which were not applied
}

// add adds what is missing in one repository.
func (m *unsearched) add(repo string, found index.Answer, absent files.Absent) {
	m.unread.Files, m.unread.Folders = m.unread.Files+found.Unread.Files, m.unread.Folders+found.Unread.Folders
	m.absent.Files, m.absent.Submodules = m.absent.Files+absent.Files, m.absent.Submodules+absent.Submodules
	m.absent.Bare = m.absent.Bare || absent.Bare
	for _, each := range found.Oversize {
		m.oversize = append(m.oversize, path.Join(repo, each))
	}
}

// note returns the note of an answer: there are no rows, or something is missing.
func (m unsearched) note(rows int) string {
	unread, absent := m.unread, m.absent
	var notes []string
	if rows == 0 {
		notes = append(notes, "nothing was found: try other or fewer words, a prefix*, or no paths and language")
	}
	if unread != (index.Unread{}) {
		notes = append(notes, fmt.Sprintf("not searched, because it cannot be read: %s, %s; check the permissions",
			quantity(unread.Files, "file"), quantity(unread.Folders, "folder")))
	}
	if absent.Files > 0 {
		notes = append(notes, "not searched, because this is a sparse checkout: "+quantity(absent.Files, "file")+"; git sparse-checkout add FOLDER brings more")
	}
	if absent.Bare {
		notes = append(notes, "not searched, because this is a bare repository, which has no working tree; git worktree add ../NAME BRANCH makes one beside it")
	}
	if absent.Submodules > 0 {
		notes = append(notes, "not searched, because it is not checked out: "+quantity(absent.Submodules, "submodule")+"; git submodule update --init brings it")
	}
	if large := oversizeNote(m.oversize); large != "" {
		notes = append(notes, large)
	}
	return strings.Join(notes, "; ")
}

func quantity(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// add adds the counts of one repository. c may be nil.
func (c *searchCounts) add(of index.Counts) {
	if c == nil {
		return
	}
	c.Files += of.Files
	for word, files := range of.Words {
		c.Words[word] += files
	}
}

func (s *Search) findIn(ctx context.Context, call engines.Call, in *searched, query *index.ParsedQuery) (index.Answer, error) {
	ix, err := in.open(ctx)
	if err != nil {
		return index.Answer{}, err
	}
	b := newBuilding(call, s.logger, in.name)
	found, err := ix.Find(ctx, query, b.progress(ctx))
	if err != nil {
		return index.Answer{}, err
	}
	b.finished(ctx, found.Changes)
	return found, nil
}

// repositories returns the repository with a name, or all of them for "".
func (s *Search) repositories(name string) ([]*searched, error) {
	if name == "" {
		return s.repos, nil
	}
	i, err := lookup(s.known, name)
	return s.repos[i : i+1], err
}
