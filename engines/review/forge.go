package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// The tools for pull and merge requests of mounted servers: the official servers of
// GitHub and GitLab, and common others, which differ in the names of arguments.
const (
	githubRead    = "pull_request_read"
	gitlabRead    = "get_merge_request"
	gitlabDiffs   = "get_merge_request_diffs"
	gitlabCommits = "get_merge_request_commits"
)

// resolveForge asks a mounted server for a request that is not in the repository.
// foreign is a ref of the number that comes from another project, or "".
func (e *engine) resolveForge(ctx context.Context, wanted target, foreign string) (source, error) {
	at := source{Kind: wanted.kind, Project: wanted.project, Number: wanted.number}
	if tool, found := e.find(githubRead); found && wanted.kind != kindGitLab && wanted.project != "" {
		at.Forge, at.Kind = engines.EngineOf(tool.Name), kindGitHub
		var request struct {
			Head struct {
				SHA string `json:"sha"`
			} `json:"head"`
			Base struct {
				SHA string `json:"sha"`
			} `json:"base"`
		}
		err := e.ask(ctx, tool.Name, at.githubArgs("get"), &request)
		at.Base, at.Head = request.Base.SHA, request.Head.SHA
		return at.withHead(tool.Name, err)
	}
	if tool, found := e.find(gitlabRead); found && wanted.kind != kindGitHub && wanted.project != "" {
		at.Forge, at.Kind = engines.EngineOf(tool.Name), kindGitLab
		var request struct {
			SHA  string `json:"sha"`
			Refs struct {
				Base string `json:"base_sha"`
				Head string `json:"head_sha"`
			} `json:"diff_refs"`
		}
		err := e.ask(ctx, tool.Name, at.gitlabArgs(tool), &request)
		at.Base, at.Head = request.Refs.Base, cmp.Or(request.Refs.Head, request.SHA)
		if err == nil && at.Head == "" {
			at.Head, err = e.lastCommit(ctx, at)
		}
		return at.withHead(tool.Name, err)
	}
	if foreign != "" {
		return source{}, fault.New(fault.InvalidParams, "target: %s is here, but no remote that it can come from is %s, and no mounted server could be asked for request %d of that project",
			foreign, fault.Cut(wanted.project, 200), wanted.number).
			Hinted(fault.Hint{Text: fmt.Sprintf("add the project as a remote (git remote add NAME ADDRESS) and fetch its request; or review what is here by its number, %d", wanted.number)})
	}
	return source{}, fault.New(fault.InvalidParams, "target: request %d is not in this repository, and no mounted server could be asked: "+
		"it takes the address of the request, and GitHub's or GitLab's MCP server", wanted.number).
		Hinted(fault.Hint{Text: "fetch it: git fetch origin pull/N/head:pr/N (GitHub), git fetch origin merge-requests/N/head:mr/N (GitLab)"})
}

// withHead returns the source, or TOOL_FAILED if the forge did not say its head commit:
// without one a change counts as the working tree.
func (s source) withHead(tool string, err error) (source, error) {
	if err == nil && s.Head == "" {
		err = fault.New(fault.ToolFailed, "%s did not say the head commit of request %d", tool, s.Number)
	}
	return s, err
}

// lastCommit asks for the newest commit of a merge request: GitLab's server, from 19.3
// on, describes a request without its commits.
func (e *engine) lastCommit(ctx context.Context, at source) (string, error) {
	tool, found := e.toolOf(at.Forge, gitlabCommits)
	if !found {
		return "", nil
	}
	args := at.gitlabArgs(tool)
	if _, sized := propertiesOf(tool)["per_page"]; sized {
		args["per_page"] = 1
	}
	var commits []struct {
		ID string `json:"id"`
	}
	if err := e.ask(ctx, tool.Name, args, &commits); err != nil || len(commits) == 0 {
		return "", err
	}
	return commits[0].ID, nil // the newest comes first
}

// readForge returns the files of a request with their patches.
func (e *engine) readForge(ctx context.Context, from source) ([]fileChange, error) {
	if tool, found := e.toolOf(from.Forge, githubRead); found {
		var text string
		if err := e.ask(ctx, tool.Name, from.githubArgs("get_diff"), &text); err != nil {
			return nil, err
		}
		files, err := parseGitDiff(text)
		if err != nil {
			return nil, fault.New(fault.ToolFailed, "read the diff of %s: %w", tool.Name, err)
		}
		if len(files) == 0 && strings.TrimSpace(text) != "" {
			return nil, fault.New(fault.ToolFailed, "%s answered no diff: %s", tool.Name, fault.Cut(oneParagraph(text), 200))
		}
		return files, nil
	}
	tool, found := e.toolOf(from.Forge, gitlabDiffs)
	if !found {
		return nil, fault.New(fault.EngineOffline, "the server %s, which has the change, is not available", from.Forge)
	}
	type fileDiff struct {
		OldPath   string `json:"old_path"`
		NewPath   string `json:"new_path"`
		Diff      string `json:"diff"`
		New       bool   `json:"new_file"`
		Deleted   bool   `json:"deleted_file"`
		Renamed   bool   `json:"renamed_file"`
		Collapsed bool   `json:"collapsed"`
		TooLarge  bool   `json:"too_large"`
	}
	answers, err := e.askPages(ctx, tool, from.gitlabArgs(tool))
	if err != nil {
		return nil, err
	}
	var diffs []fileDiff
	for _, each := range answers {
		var page []fileDiff
		if err := decode(tool.Name, each, &page); err != nil {
			return nil, err
		}
		diffs = append(diffs, page...)
	}
	var files []fileChange
	for _, each := range diffs {
		file := fileChange{Path: each.NewPath, Status: "modified", patch: each.Diff}
		switch {
		case each.New:
			file.Status = "added"
		case each.Deleted:
			file.Status = "deleted"
		case each.Renamed:
			file.Status, file.RenamedFrom = "renamed", each.OldPath
		}
		if each.TooLarge || each.Collapsed {
			file.LeftOut = "too long: the forge does not show its patch"
		}
		file.count()
		files = append(files, file)
	}
	return files, nil
}

// githubArgs are the arguments of pull_request_read.
func (s source) githubArgs(method string) map[string]any {
	owner, name, _ := strings.Cut(s.Project, "/")
	return map[string]any{"method": method, "owner": owner, "repo": name, "pullNumber": s.Number}
}

// gitlabArgs are the arguments of a tool about one merge request, by the tool's own
// names for them.
func (s source) gitlabArgs(tool engines.Tool) map[string]any {
	properties := propertiesOf(tool) // without a schema the usual names are used
	name := func(names ...string) string {
		for _, each := range names {
			if _, has := properties[each]; has {
				return each
			}
		}
		return names[0]
	}
	number := name("merge_request_iid", "mr_iid", "iid")
	args := map[string]any{name("project_id", "id", "project_path"): s.Project, number: s.Number}
	if properties[number].Type == "string" {
		args[number] = strconv.Itoa(s.Number)
	}
	return args
}

// property is the schema of a tool's argument.
type property struct {
	Type any `json:"type"`
}

func propertiesOf(tool engines.Tool) map[string]property {
	var schema struct {
		Properties map[string]property `json:"properties"`
	}
	_ = json.Unmarshal(tool.Input, &schema) // an unreadable schema has no properties
	return schema.Properties
}

// maxPages bounds how many pages of one list are read.
const maxPages = 100

// askPages calls a listing tool of a mounted server and returns its answers. A tool with
// numbered pages is asked until an answer is empty, not a list, or equal to the previous
// one; a tool with cursors, until it says that there is no next page.
func (e *engine) askPages(ctx context.Context, tool engines.Tool, args map[string]any) (answers []string, err error) {
	properties := propertiesOf(tool)
	_, paged := properties["page"]
	_, cursors := properties["after"]
	for _, size := range []string{"perPage", "per_page", "first"} {
		if _, has := properties[size]; has {
			args[size] = 100
		}
	}
	for page := 1; page <= maxPages; page++ {
		if paged {
			args["page"] = page
		}
		var text string
		if err := e.ask(ctx, tool.Name, args, &text); err != nil {
			return nil, err
		}
		var list []json.RawMessage
		isList := json.Unmarshal([]byte(text), &list) == nil
		if page > 1 && !cursors && (!isList || len(list) == 0 || text == answers[page-2]) {
			return answers, nil
		}
		answers = append(answers, text)
		next := nextPage(text)
		switch {
		case cursors && next != "" && next != args["after"]:
			args["after"] = next
		case !paged || !isList || len(list) == 0:
			return answers, nil
		}
	}
	return nil, fault.New(fault.LimitExceeded, "%s listed more than %d pages", tool.Name, maxPages)
}

// nextPage returns the cursor of the page after a list of notes, as GraphQL has it; "" if
// there is none.
func nextPage(text string) string {
	var list struct {
		Notes struct {
			PageInfo struct {
				HasNextPage bool   `json:"hasNextPage"`
				EndCursor   string `json:"endCursor"`
			} `json:"pageInfo"`
		} `json:"notes"`
	}
	if json.Unmarshal([]byte(text), &list) != nil || !list.Notes.PageInfo.HasNextPage {
		return ""
	}
	return list.Notes.PageInfo.EndCursor
}

// find returns the tool of a mounted server by its own name.
func (e *engine) find(own string) (engines.Tool, bool) {
	return e.first(func(name string) bool {
		_, after, _ := strings.Cut(name, ".")
		return after == own
	})
}

// toolOf returns the tool of an engine by its own name.
func (e *engine) toolOf(engine, own string) (engines.Tool, bool) {
	return e.first(func(name string) bool { return name == engine+"."+own })
}

// first returns the first tool whose name fits.
func (e *engine) first(fits func(name string) bool) (engines.Tool, bool) {
	tools := e.tools.Tools()
	i := slices.IndexFunc(tools, func(tool engines.Tool) bool { return fits(tool.Name) })
	if i < 0 {
		return engines.Tool{}, false
	}
	return tools[i], true
}

// ask calls a tool of a mounted server and decodes its JSON or text. An answer over the
// limit of a result is LIMIT_EXCEEDED: its beginning would look like all of it.
func (e *engine) ask(ctx context.Context, tool string, args map[string]any, into any) error {
	raw, err := jsonvalue.Encode(args)
	if err != nil {
		return fault.From(err)
	}
	result, err := e.tools.Invoke(ctx, tool, raw)
	switch {
	case errors.Is(err, fault.LimitExceeded) || result.Artifact != "":
		return fault.New(fault.LimitExceeded, "the answer of %s is larger than a result may be", tool).
			Hinted(fault.Hint{Text: "fetch the request and review it here: git fetch origin pull/N/head:pr/N (GitHub), git fetch origin merge-requests/N/head:mr/N (GitLab)"})
	case err != nil:
		return err
	}
	text := textOf(result.JSON)
	if plain, wanted := into.(*string); wanted {
		*plain = text
		return nil
	}
	return decode(tool, text, into)
}

// textOf returns the JSON or text that a mounted server answered: its text, whether it
// comes as content or as {"text": …}, the list that GitLab's server puts into an object as
// items, else the object.
func textOf(result json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return string(result)
	}
	var text string
	if len(members) == 1 && json.Unmarshal(members["text"], &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if len(members) == 1 && json.Unmarshal(members["content"], &blocks) == nil {
		for _, block := range blocks {
			text += block.Text
		}
		return text
	}
	if items := members["items"]; members["metadata"] != nil && len(members) == 2 && len(items) > 0 && items[0] == '[' {
		return string(items)
	}
	return string(result)
}

// decode decodes the JSON of a tool's answer.
func decode(tool, text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fault.New(fault.ToolFailed, "the answer of %s is not JSON: %w", tool, err)
	}
	return nil
}

// parseGitDiff splits the output of `git diff` by file.
func parseGitDiff(text string) (files []fileChange, err error) {
	parsed, _, err := gitdiff.Parse(strings.NewReader(text))
	for _, each := range parsed {
		file := fileChange{Path: cmp.Or(each.NewName, each.OldName), Status: "modified", Binary: each.IsBinary, patch: each.String()}
		switch {
		case each.IsNew:
			file.Status = "added"
		case each.IsDelete:
			file.Status = "deleted"
		case each.IsRename:
			file.Status, file.RenamedFrom = "renamed", each.OldName
		}
		file.count()
		files = append(files, file)
	}
	return files, err
}

// count counts a file's added and removed lines from its patch.
func (f *fileChange) count() {
	hunks, err := parsePatch(f.Path, f.patch)
	if err != nil {
		return // reported when the change is packed
	}
	for _, hunk := range hunks {
		for _, each := range hunk.lines {
			switch each.Kind {
			case '+':
				f.Additions++
			case '-':
				f.Deletions++
			}
		}
	}
}
