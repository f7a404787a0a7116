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
	"github.com/tidwall/gjson"

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
	if properties[number].Get("type").Str == "string" {
		args[number] = strconv.Itoa(at.Number)
	}
	return asking{tool, args}, true
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
		about, err := e.ask(ctx, get)
		at.Forge, at.Kind = get.engine(), kind.name
		first := func(paths ...string) (found string) {
			for _, each := range paths {
				found = cmp.Or(found, gjson.Get(about, each).Str)
			}
			return found
		}
		at.Base, at.Head = first("base.sha", "diff_refs.base_sha"), first("head.sha", "diff_refs.head_sha", "sha")
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
	commits, err := e.ask(ctx, list)
	return gjson.Get(commits, "0.id").Str, err
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
	var parsed []*gitdiff.File
	list := gjson.Parse(answer)
	if !gjson.Valid(answer) || !list.IsArray() {
		parsed, _, err = gitdiff.Parse(strings.NewReader(answer))
		list = gjson.Result{}
	}
	for _, each := range list.Array() {
		is := func(name string) bool { return each.Get(name).Bool() }
		file := fileOf(each.Get("old_path").Str, each.Get("new_path").Str, is("new_file"), is("deleted_file"), is("renamed_file"), each.Get("diff").Str)
		if is("too_large") || is("collapsed") {
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

// propertiesOf returns the schemas of a tool's arguments.
func propertiesOf(tool engines.Tool) map[string]gjson.Result {
	return gjson.GetBytes(tool.InputSchema(), "properties").Map()
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
		text, err := e.ask(ctx, list)
		if err != nil {
			return nil, err
		}
		more := gjson.Get(text, "0").Exists()
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
	page := gjson.Get(text, "notes.pageInfo")
	if !page.Get("hasNextPage").Bool() {
		return ""
	}
	return page.Get("endCursor").Str
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

// ask calls a tool of a mounted server and returns its JSON or text. An answer over the
// limit of a result is LIMIT_EXCEEDED: its beginning would look like all of it.
func (e *engine) ask(ctx context.Context, call asking) (string, error) {
	result, err := e.invoke(ctx, call.tool.Name, call.args)
	if errors.Is(err, fault.LimitExceeded) || result.Artifact != "" {
		return "", fault.New(fault.LimitExceeded, "the answer of %s is larger than a result may be", call.tool.Name).
			Hinted(fault.Hint{Text: "fetch the request and review it here: git fetch origin pull/N/head:pr/N (GitHub), git fetch origin merge-requests/N/head:mr/N (GitLab)"})
	}
	return textOf(result.JSON), err
}

// textOf returns the JSON or text that a mounted server answered: its text, whether it
// comes as content or as {"text": …}, the list that GitLab's server puts into an object as
// items, else the object.
func textOf(result json.RawMessage) string {
	whole := gjson.ParseBytes(result)
	text, content, items := whole.Get("text"), whole.Get("content"), whole.Get("items")
	switch members := len(whole.Map()); {
	case members == 1 && text.Type == gjson.String:
		return text.Str
	case members == 1 && content.IsArray():
		joined := ""
		for _, block := range content.Get("#.text").Array() {
			joined += block.Str
		}
		return joined
	case members == 2 && whole.Get("metadata").Exists() && items.IsArray():
		return items.Raw
	}
	return string(result)
}
