package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// change is a change under review, fully loaded.
type change struct {
	source source
	order  []fileChange
	files  map[string]fileChange
	hunks  map[string][]passage // by path, with the surrounding lines
	parts  []part
	// digest covers all patches: a working tree may change during a review.
	digest string
}

// fileChange is one file of a change. LeftOut is why it is not reviewed.
type fileChange struct {
	Path        string `json:"path"`
	Status      string `json:"status"`
	RenamedFrom string `json:"renamed_from,omitempty"`
	Additions   int    `json:"additions"`
	Deletions   int    `json:"deletions"`
	Binary      bool   `json:"binary,omitempty"`
	LeftOut     string `json:"left_out,omitempty" doc:"why the file is not reviewed: binary, generated, vendored, lock file, not to be read, a line longer than a part, no lines"`
	patch       string
}

// describe describes a file's change, for the heading of its part.
func (f fileChange) describe() string {
	text := fmt.Sprintf("%s, +%d -%d", f.Status, f.Additions, f.Deletions)
	if f.RenamedFrom != "" {
		text += ", from " + f.RenamedFrom
	}
	return text
}

// lines is the number of added and removed lines.
func (f fileChange) lines() int { return f.Additions + f.Deletions }

// diff is the result of git.diff.
type diff struct {
	Files []struct {
		fileChange
		Patch string `json:"patch"`
	} `json:"files"`
	Truncated bool `json:"truncated"`
}

// load reads a change and packs it into parts of at most room bytes. A change with a head,
// which is immutable, is cached.
func (e *engine) load(ctx context.Context, repo string, from source, room int) (*change, error) {
	key := fmt.Sprint(repo, "\x00", from, "\x00", room)
	if kept, found := e.kept.Get(key); found {
		return kept, nil
	}
	files, err := e.read(ctx, repo, from)
	if err != nil {
		return nil, err
	}
	c := &change{source: from, files: map[string]fileChange{}, hunks: map[string][]passage{}}
	sum := sha256.New()
	var passages []passage
	for _, file := range files {
		fmt.Fprintf(sum, "%q %q %q\n", file.Path, file.RenamedFrom, file.patch)
		if file.LeftOut == "" {
			file.LeftOut = leftOut(file)
		}
		if file.LeftOut == "" {
			hunks, err := parsePatch(file.Path, file.patch)
			switch {
			case err != nil:
				return nil, fault.New(fault.ToolFailed, "read the change: %w", err)
			case len(hunks) == 0:
				file.LeftOut = noLines(file)
			case slices.ContainsFunc(hunks, func(hunk passage) bool { return hunk.isWider(room) }):
				file.LeftOut, hunks = "a line is longer than a part", nil
			case isGenerated(file.Path, e.top(ctx, repo, from, hunks[0])):
				file.LeftOut, hunks = "generated", nil
			}
			c.hunks[file.Path] = hunks
			for _, hunk := range hunks {
				passages = append(passages, clip(hunk)...)
			}
		}
		c.order, c.files[file.Path] = append(c.order, file), file
	}
	c.parts, c.digest = pack(passages, room), hex.EncodeToString(sum.Sum(nil))
	if from.Head != "" {
		e.kept.Add(key, c)
	}
	return c, nil
}

// noLines says why a change has a file without hunks.
func noLines(file fileChange) string {
	if file.RenamedFrom != "" {
		return "renamed without a change"
	}
	return "no lines changed"
}

// read returns the files of a change with their patches.
func (e *engine) read(ctx context.Context, repo string, from source) ([]fileChange, error) {
	if from.Forge != "" {
		return e.readForge(ctx, from)
	}
	args := inRepo(repo, map[string]any{"from": from.Base, "functions": true, "max_bytes": maxAnswer})
	if from.Head != "" {
		args["to"], args["merge_base"] = from.Head, from.MergeBase
	}
	var all diff
	if err := e.call(ctx, "git.diff", args, &all); err != nil {
		return nil, err
	}
	if all.Truncated { // too long for one answer: read file by file
		args["no_patch"] = true
		all = diff{}
		if err := e.call(ctx, "git.diff", args, &all); err != nil {
			return nil, err
		}
		delete(args, "no_patch")
		for i := range all.Files {
			if err := e.readFile(ctx, args, &all.Files[i].fileChange, &all.Files[i].Patch); err != nil {
				return nil, err
			}
		}
		if all.Truncated {
			return nil, fault.New(fault.LimitExceeded, "the change has more files than one answer of git.diff lists (%d)", len(all.Files))
		}
	}
	var files []fileChange
	for _, each := range all.Files {
		each.fileChange.patch = each.Patch
		files = append(files, each.fileChange)
	}
	if from.Head == "" {
		untracked, err := e.untracked(ctx, repo)
		return append(files, untracked...), err
	}
	return files, nil
}

// top returns the beginning of a file's new version. If the patch begins further down,
// it reads the file on disk, which usually has the same beginning; without one the file
// is reviewed.
func (e *engine) top(ctx context.Context, repo string, from source, first passage) string {
	if first.lines[0].New <= 1 || from.Forge != "" {
		return first.top()
	}
	var read page
	file := path.Join(repo, first.path)
	if err := e.call(ctx, "context.read", map[string]any{"path": file, "end_line": topLines}, &read); err != nil {
		return first.top()
	}
	return read.Text
}

// maxAnswer bounds one result of git.diff, in bytes. Even with JSON escapes it is below
// the registry's limit (1 MB).
const maxAnswer = 500_000

// readFile reads the patch of one file. If it is too long with the surrounding
// functions, it is read without them.
func (e *engine) readFile(ctx context.Context, args map[string]any, file *fileChange, patch *string) error {
	if file.Binary {
		return nil
	}
	paths := []string{file.Path}
	if file.RenamedFrom != "" {
		paths = append(paths, file.RenamedFrom)
	}
	for _, functions := range []bool{true, false} {
		args["paths"], args["functions"] = paths, functions
		var one diff
		if err := e.call(ctx, "git.diff", args, &one); err != nil {
			return err
		}
		for _, each := range one.Files {
			if each.Path == file.Path {
				*patch = each.Patch
			}
		}
		if !one.Truncated {
			return nil
		}
	}
	file.LeftOut = "too long: its patch alone is more than git.diff answers"
	return nil
}

// call calls another tool and decodes its result.
func (e *engine) call(ctx context.Context, tool string, args any, into any) error {
	result, err := e.invoke(ctx, tool, args)
	if err != nil {
		return err
	}
	return decode(tool, result.JSON, into)
}

// invoke calls another tool under the guards of this call.
func (e *engine) invoke(ctx context.Context, tool string, args any) (engines.Result, error) {
	raw, err := jsonvalue.Encode(args)
	if err != nil {
		return engines.Result{}, fault.From(err)
	}
	return e.tools.Invoke(ctx, e.from, tool, raw)
}

// decode decodes the JSON of a tool's answer.
func decode(tool string, answer []byte, into any) error {
	if err := json.Unmarshal(answer, into); err != nil {
		return fault.New(fault.ToolFailed, "the answer of %s cannot be read: %w", tool, err)
	}
	return nil
}
