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
)

// forgeKind says which tools of a mounted server know the requests of a kind of forge, by
// their own names, and the method after a space.
type forgeKind struct {
	name          string
	request, diff string
	discussion    []string // that list comments; the first one those that Savant writes
	comment       []string // that add one
	commits       string   // newest first
}

// forgeKinds are the official servers of GitHub and GitLab, and common others, which differ
// in the names of arguments. GitLab's has save_note from 19.4 on.
var forgeKinds = []forgeKind{
	{name: kindGitHub, request: "pull_request_read get", diff: "pull_request_read get_diff", comment: []string{"add_issue_comment"},
		discussion: []string{"pull_request_read get_comments", "pull_request_read get_reviews", "pull_request_read get_review_comments"}},
	{name: kindGitLab, request: "get_merge_request", diff: "get_merge_request_diffs", comment: []string{"create_merge_request_note", "save_note"},
		discussion: []string{"get_merge_request_notes"}, commits: "get_merge_request_commits"},
}

// asking is a call of a forge's tool about one request.
type asking struct {
	tool engines.Tool
	args map[string]any
}

// engine is the engine of the server that is asked.
func (a asking) engine() string { return engines.EngineOf(a.tool.Name) }

// about returns the call that asks for something of a request, if a mounted server has the
// tool and the request can be one of its kind. The tool's own names of arguments are used;
// without a schema the usual ones.
func (e *engine) about(at source, kind forgeKind, name string) (asking, bool) {
	own, method, _ := strings.Cut(name, " ")
	tool, found := e.find(at.Forge, own)
	if !found || at.Project == "" || at.Number == 0 || at.Kind != "" && at.Kind != kind.name {
		return asking{}, false
	}
	properties := propertiesOf(tool)
	known := func(names ...string) string {
		i := slices.IndexFunc(names, func(each string) bool { _, has := properties[each]; return has })
		return names[max(i, 0)]
	}
	args, number := map[string]any{}, "issue_number"
	if kind.name == kindGitLab {
		number = known("merge_request_iid", "mr_iid", "iid")
		args[known("project_id", "id", "project_path")] = at.Project
	} else {
		args["owner"], args["repo"], _ = strings.Cut(at.Project, "/")
	}
	if method != "" {
		number, args["method"] = "pullNumber", method
	}
	args[number] = at.Number
	if properties[number].Type == "string" {
		args[number] = strconv.Itoa(at.Number)
	}
	return asking{tool, args}, true
}

// request is what the tools of both kinds of forges say of a request.
type request struct {
	Title, Body, Description, SHA string
	Head, Base                    struct{ SHA string }
	Refs                          struct {
		Base string `json:"base_sha"`
		Head string `json:"head_sha"`
	} `json:"diff_refs"`
}

// resolveForge asks a mounted server for a request that is not in the repository.
// foreign is a ref of the number that comes from another project, or "". TOOL_FAILED: the
// forge did not say its head commit, without which a change counts as the working tree.
func (e *engine) resolveForge(ctx context.Context, wanted target, foreign string) (source, error) {
	at := source{Kind: wanted.kind, Project: wanted.project, Number: wanted.number}
	for _, kind := range forgeKinds {
		get, found := e.about(at, kind, kind.request)
		if !found {
			continue
		}
		var about request
		err := e.ask(ctx, get, &about)
		at.Forge, at.Kind = get.engine(), kind.name
		at.Base, at.Head = cmp.Or(about.Base.SHA, about.Refs.Base), cmp.Or(about.Head.SHA, about.Refs.Head, about.SHA)
		if err == nil && at.Head == "" {
			at.Head, err = e.lastCommit(ctx, at, kind)
		}
		if err == nil && at.Head == "" {
			err = fault.New(fault.ToolFailed, "%s did not say the head commit of request %d", get.tool.Name, at.Number)
		}
		return at, err
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

// lastCommit asks for the newest commit of a request: GitLab's server, from 19.3 on,
// describes a request without its commits.
func (e *engine) lastCommit(ctx context.Context, at source, kind forgeKind) (string, error) {
	list, found := e.about(at, kind, kind.commits)
	if !found {
		return "", nil
	}
	if _, sized := propertiesOf(list.tool)["per_page"]; sized {
		list.args["per_page"] = 1
	}
	var commits []struct{ ID string }
	if err := e.ask(ctx, list, &commits); err != nil || len(commits) == 0 {
		return "", err
	}
	return commits[0].ID, nil
}

// readForge returns the files of a request with their patches.
func (e *engine) readForge(ctx context.Context, from source) (files []fileChange, err error) {
	for _, kind := range forgeKinds {
		get, found := e.about(from, kind, kind.diff)
		if !found {
			continue
		}
		answers, err := e.askPages(ctx, get)
		if err != nil {
			return nil, err
		}
		for _, each := range answers {
			page, err := filesIn(each)
			if err == nil && len(page) == 0 && strings.Trim(each, "[] \t\r\n") != "" {
				err = errors.New("it is no diff")
			}
			if err != nil {
				return nil, fault.New(fault.ToolFailed, "the answer of %s cannot be read: %w: %s", get.tool.Name, err, fault.Cut(plain(each), 200))
			}
			files = append(files, page...)
		}
		return files, nil
	}
	return nil, fault.New(fault.EngineOffline, "the server %s, which has the change, is not available", from.Forge)
}

// filesIn reads the files of a change in an answer of a forge: a list of them, as GitLab
// answers it, or the output of `git diff`.
func filesIn(answer string) (files []fileChange, err error) {
	var list []struct {
		OldPath   string `json:"old_path"`
		NewPath   string `json:"new_path"`
		Diff      string `json:"diff"`
		New       bool   `json:"new_file"`
		Deleted   bool   `json:"deleted_file"`
		Renamed   bool   `json:"renamed_file"`
		Collapsed bool   `json:"collapsed"`
		TooLarge  bool   `json:"too_large"`
	}
	var parsed []*gitdiff.File
	if json.Unmarshal([]byte(answer), &list) != nil {
		parsed, _, err = gitdiff.Parse(strings.NewReader(answer))
	}
	for _, each := range list {
		file := fileOf(each.OldPath, each.NewPath, each.New, each.Deleted, each.Renamed, each.Diff)
		if each.TooLarge || each.Collapsed {
			file.LeftOut = "too long: the forge does not show its patch"
		}
		files = append(files, file)
	}
	for _, each := range parsed {
		file := fileOf(each.OldName, cmp.Or(each.NewName, each.OldName), each.IsNew, each.IsDelete, each.IsRename, each.String())
		file.Binary = each.IsBinary
		files = append(files, file)
	}
	return files, err
}

// fileOf describes the change of a file, with the numbers of its added and removed lines.
func fileOf(oldPath, path string, isNew, isDeleted, isRenamed bool, patch string) fileChange {
	file := fileChange{Path: path, Status: "modified", patch: patch}
	switch {
	case isNew:
		file.Status = "added"
	case isDeleted:
		file.Status = "deleted"
	case isRenamed:
		file.Status, file.RenamedFrom = "renamed", oldPath
	}
	hunks, _ := parsePatch(path, patch) // an error is reported when the change is packed
	for _, each := range hunks {
		added, removed := each.count()
		file.Additions, file.Deletions = file.Additions+added, file.Deletions+removed
	}
	return file
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
func (e *engine) askPages(ctx context.Context, list asking) (answers []string, err error) {
	properties, args := propertiesOf(list.tool), list.args
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
		if err := e.ask(ctx, list, &text); err != nil {
			return nil, err
		}
		var rows []json.RawMessage
		more := json.Unmarshal([]byte(text), &rows) == nil && len(rows) > 0
		if page > 1 && !cursors && (!more || text == answers[page-2]) {
			return answers, nil
		}
		answers = append(answers, text)
		next := nextPage(text)
		switch {
		case cursors && next != "" && next != args["after"]:
			args["after"] = next
		case !paged || !more:
			return answers, nil
		}
	}
	return nil, fault.New(fault.LimitExceeded, "%s listed more than %d pages", list.tool.Name, maxPages)
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

// find returns the tool of an engine by its own name; of any mounted server if engine is "".
func (e *engine) find(engine, own string) (engines.Tool, bool) {
	tools := e.tools.Tools()
	i := slices.IndexFunc(tools, func(tool engines.Tool) bool {
		before, after, _ := strings.Cut(tool.Name, ".")
		return after == own && (engine == "" || before == engine)
	})
	if i < 0 {
		return engines.Tool{}, false
	}
	return tools[i], true
}

// ask calls a tool of a mounted server and decodes its JSON or text. An answer over the
// limit of a result is LIMIT_EXCEEDED: its beginning would look like all of it.
func (e *engine) ask(ctx context.Context, call asking, into any) error {
	result, err := e.invoke(ctx, call.tool.Name, call.args)
	switch {
	case errors.Is(err, fault.LimitExceeded) || result.Artifact != "":
		return fault.New(fault.LimitExceeded, "the answer of %s is larger than a result may be", call.tool.Name).
			Hinted(fault.Hint{Text: "fetch the request and review it here: git fetch origin pull/N/head:pr/N (GitHub), git fetch origin merge-requests/N/head:mr/N (GitLab)"})
	case err != nil:
		return err
	}
	text := textOf(result.JSON)
	if plain, wanted := into.(*string); wanted {
		*plain = text
		return nil
	}
	return decode(call.tool.Name, []byte(text), into)
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
