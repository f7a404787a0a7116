package review

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"savant/fault"
)

// Limits for untracked files: a larger number usually means that ignore rules are
// missing.
const (
	maxUntracked      = 500
	maxUntrackedBytes = 1 << 20
)

// untracked returns the untracked files, which no diff contains, each as an added file.
func (e *engine) untracked(ctx context.Context, repo string) (files []fileChange, err error) {
	tree, err := e.status(ctx, repo, map[string]any{"limit": 10_000, "all_untracked": true})
	if err != nil {
		return nil, err
	}
	if tree.Truncated {
		return nil, fault.New(fault.LimitExceeded, "the working tree has more changed files than git.status lists (%d)", len(tree.Files)).
			Hinted(fault.Hint{Text: "name the files that git should ignore in .gitignore"})
	}
	for _, each := range tree.Files {
		if each.Worktree != "untracked" {
			continue
		}
		file := fileChange{Path: each.Path, Status: "untracked"}
		if file.LeftOut = leftOut(file); file.LeftOut == "" {
			if len(files) == maxUntracked {
				file.LeftOut = fmt.Sprintf("untracked, and more than %d files are", maxUntracked)
			} else if err := e.readUntracked(ctx, repo, &file); err != nil {
				return nil, err
			}
		}
		files = append(files, file)
	}
	return files, nil
}

// page is the result of context.read.
type page struct {
	Text      string `json:"text"`
	EndLine   int    `json:"end_line"`
	Total     int    `json:"total_lines"`
	Truncated bool   `json:"truncated"`
}

// readUntracked reads a file page by page and makes the patch that adds it. LeftOut
// says why it was not read.
func (e *engine) readUntracked(ctx context.Context, repo string, file *fileChange) error {
	if strings.HasSuffix(file.Path, "/") {
		file.LeftOut = "untracked, a repository of its own"
		return nil
	}
	var text strings.Builder
	for start := 1; ; {
		var read page
		err := e.call(ctx, "context.read", map[string]any{"path": path.Join(repo, file.Path), "start_line": start}, &read)
		switch {
		case errors.Is(err, fault.ToolDenied):
			file.LeftOut = "untracked, and models may not read a file with this name"
		case errors.Is(err, fault.UnknownTool):
			file.LeftOut = "untracked; git add -N lets it be read"
		case errors.Is(err, fault.InvalidParams), errors.Is(err, fault.LimitExceeded):
			file.LeftOut = "untracked, and not a readable text file"
		case err != nil:
			return err
		case read.Truncated && read.EndLine-start+1 > strings.Count(read.Text, "\n"):
			file.LeftOut = "a line is longer than a part"
		case text.Len() > maxUntrackedBytes:
			file.LeftOut = fmt.Sprintf("untracked, and longer than %d bytes", maxUntrackedBytes)
		default:
			text.WriteString(read.Text)
			if read.EndLine < read.Total {
				start = read.EndLine + 1
				continue
			}
			file.patch, file.Additions = newFilePatch(text.String()), read.Total
		}
		return nil
	}
}

// newFilePatch returns the patch of a new file.
func newFilePatch(text string) string {
	if text == "" {
		return ""
	}
	text = strings.TrimSuffix(text, "\n")
	return fmt.Sprintf("@@ -0,0 +1,%d @@\n+%s\n", strings.Count(text, "\n")+1, strings.ReplaceAll(text, "\n", "\n+"))
}
