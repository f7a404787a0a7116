package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/ownfolder"
	"savant/internal/pattern"
	"savant/internal/regular"
)

// The folder of the memory, and its limits.
const (
	memoryFolder   = ".savant/memory"
	memoryEnding   = ".md"
	maxMemories    = 500
	maxMemoryBytes = 64 << 10
)

var memoryName = pattern.Lazy(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func (e *reader) memoryTools() []engines.Tool {
	write := engines.Bind("context.memory_write", "Keeps something worth remembering for later runs, in a Markdown file of the project's memory. "+
		"append, the default, adds to the file; replace takes its place.", e.memoryWrite)
	write.Title, write.Exact = "Write to memory", true
	write.Destructive = true // replace deletes the previous content
	return []engines.Tool{
		engines.BindReading("context.memory_search", "Search memory", e.memorySearch,
			"Searches what was kept by context.memory_write, and what earlier runs came to, best first."),
		write,
	}
}

type memoryWriteIn struct {
	Name string `json:"name" doc:"lower-case letters, digits, - and _; the file's name without .md" example:"deploys"`
	Text string `json:"text" doc:"Markdown; the first heading is its title" example:"# Deploys\nFridays are frozen."`
	Mode string `json:"mode,omitempty" enum:"append,replace" doc:"default append"`
}

type memoryWriteOut struct {
	Name  string `json:"name"`
	Path  string `json:"path"` // relative to SAVANT_PATH
	Title string `json:"title"`
	Bytes int    `json:"bytes"` // of the whole file now
}

func (e *reader) memoryWrite(ctx context.Context, in memoryWriteIn) (memoryWriteOut, error) {
	if !memoryName().MatchString(in.Name) {
		return memoryWriteOut{}, invalid("name", "1 to 64 lower-case letters, digits, - or _, a letter or digit first", in.Name)
	}
	if strings.TrimSpace(in.Text) == "" || strings.ContainsRune(in.Text, 0) {
		return memoryWriteOut{}, invalid("text", "some text", in.Text)
	}
	if line := e.secretIn(in.Text); line > 0 {
		return memoryWriteOut{}, fault.New(fault.ToolDenied, "text: line %d has text that looks like a secret; nothing was written. "+
			"Models read the memory, and it may be committed: write where the secret is kept instead of the secret", line)
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	root, err := regular.OpenFolder(e.Path)
	if err != nil {
		return memoryWriteOut{}, notOpened("", err)
	}
	defer root.Close()
	folder, err := lockMemory(ctx, root)
	if err != nil {
		return memoryWriteOut{}, err
	}
	defer folder.Close()
	content, err := newContent(root, in)
	if err != nil {
		return memoryWriteOut{}, err
	}
	name := path.Join(memoryFolder, in.Name+memoryEnding)
	if err := atomicfile.Write(root, name, []byte(content), 0o644); err != nil {
		return memoryWriteOut{}, ownfolder.NotSaved(name, err)
	}
	return memoryWriteOut{Name: in.Name, Path: name, Title: titleOf(in.Name, content), Bytes: len(content)}, nil
}

// secretIn returns the number of the first line with a secret, 0 for none.
func (e *reader) secretIn(text string) int {
	clean := e.Redactor.Text(text)
	if clean == text {
		return 0
	}
	same := 0
	for same < min(len(text), len(clean)) && text[same] == clean[same] {
		same++
	}
	return 1 + strings.Count(text[:same], "\n")
}

// lockMemory creates the folder if needed and locks it against other processes, so that
// no update is lost.
func lockMemory(ctx context.Context, root *os.Root) (*os.File, error) {
	if err := root.MkdirAll(memoryFolder, 0o755); err != nil {
		return nil, ownfolder.NotSaved(memoryFolder, err)
	}
	folder, err := root.Open(memoryFolder)
	if err != nil {
		return nil, ownfolder.NotSaved(memoryFolder, err)
	}
	err = filelock.Acquire(ctx, memoryFolder, func() (bool, error) { return filelock.TryLock(folder, true) })
	if errors.Is(err, fault.StateConflict) {
		return nil, errors.Join(err, folder.Close())
	}
	if err != nil {
		_ = folder.Close() // only read
		return nil, ownfolder.NotSaved(memoryFolder, err)
	}
	return folder, nil
}

// newContent returns the new content of the file. LIMIT_EXCEEDED: it is too long, or
// there are too many files.
func newContent(root *os.Root, in memoryWriteIn) (string, error) {
	names, err := memoryNames(root)
	if err != nil {
		return "", err
	}
	content := strings.TrimRight(in.Text, "\n") + "\n"
	switch known := slices.Contains(names, in.Name); {
	case !known && len(names) >= maxMemories:
		return "", fault.New(fault.LimitExceeded, "the memory already has %d files; add to one of them", len(names))
	case known && in.Mode != "replace":
		before, err := memoryText(root, in.Name)
		if err != nil {
			return "", err
		}
		content = strings.TrimRight(before, "\n") + "\n\n" + content
	}
	if len(content) > maxMemoryBytes {
		return "", fault.New(fault.LimitExceeded, "%s would have %d bytes; at most %d are kept: write something shorter, or use another name",
			in.Name, len(content), maxMemoryBytes)
	}
	return content, nil
}

// memoryNames lists the memory, sorted, without extensions.
func memoryNames(root *os.Root) ([]string, error) {
	entries, err := regular.ReadDir(root, memoryFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ownfolder.NotRead(memoryFolder, err)
	}
	var names []string
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), memoryEnding)
		if ok && memoryName().MatchString(name) && entry.Type().IsRegular() {
			names = append(names, name)
		}
	}
	return names, nil
}

func memoryText(root *os.Root, name string) (string, error) {
	file, err := regular.Open(root, path.Join(memoryFolder, name+memoryEnding), os.O_RDONLY, 0)
	if err != nil {
		return "", ownfolder.NotRead(path.Join(memoryFolder, name+memoryEnding), err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, 4*maxMemoryBytes)) // people write longer ones
	if err != nil {
		return "", ownfolder.NotRead(path.Join(memoryFolder, name+memoryEnding), err)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

// titleOf returns the first heading of a text, else its name.
func titleOf(name, text string) string {
	if found := headings(text); len(found) > 0 {
		return found[0].Name
	}
	return name
}

type memorySearchIn struct {
	Query string `json:"query" doc:"words to look for" example:"deploys"`
	Limit int    `json:"limit,omitempty" min:"1" max:"50" doc:"most rows; default 10"`
}

type memorySearchOut struct {
	Rows []memoryRow `json:"rows"`
	Note string      `json:"note,omitempty"`
}

// memoryRow is a section of a file of the memory, or the summary of a run.
type memoryRow struct {
	Source  string  `json:"source"` // memory or run
	Name    string  `json:"name"`   // of the file, or workflow/run
	Title   string  `json:"title"`
	Path    string  `json:"path,omitempty"`
	Line    int     `json:"line,omitempty"`
	Snippet string  `json:"snippet"`
	Time    string  `json:"time,omitempty"` // of a run, RFC 3339
	Score   float64 `json:"score"`
}

func (e *reader) memorySearch(ctx context.Context, in memorySearchIn) (memorySearchOut, error) {
	sections, err := e.sections()
	if err != nil {
		return memorySearchOut{}, err
	}
	past, err := e.Past(ctx)
	if err != nil {
		return memorySearchOut{}, err
	}
	for _, run := range past {
		name := fmt.Sprintf("%s/%s", run.Workflow, run.Run)
		sections = append(sections, section{row: memoryRow{Source: "run", Name: name, Title: run.Workflow, Time: run.Time}, text: run.Summary})
	}
	out := memorySearchOut{Rows: ranked(sections, in.Query, cmp.Or(in.Limit, 10))}
	if len(out.Rows) == 0 {
		out.Note = "nothing was found"
	}
	return out, nil
}

// sections reads the memory, split at its headings.
func (e *reader) sections() ([]section, error) {
	root, err := regular.OpenFolder(e.Path)
	if err != nil {
		return nil, notOpened("", err)
	}
	defer root.Close()
	names, err := memoryNames(root)
	if err != nil {
		return nil, err
	}
	var all []section
	for _, name := range names[:min(len(names), 2*maxMemories)] {
		text, err := memoryText(root, name)
		if err != nil {
			return nil, err
		}
		all = append(all, splitAtHeadings(name, text)...)
	}
	return all, nil
}
