package review

import (
	"context"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/internal/pattern"
)

// The tools of mounted servers that read and write comments, GitHub's first. GitLab's
// server has gitlabNote in the place of gitlabComment from 19.4 on.
const (
	githubComment = "add_issue_comment"
	gitlabNotes   = "get_merge_request_notes"
	gitlabComment = "create_merge_request_note"
	gitlabNote    = "save_note"
)

// reviewMark begins the last line of a posted review, before its head commit.
const reviewMark = "Savant review of "

type commentIn struct {
	Source   source `json:"source" doc:"Of review.change."`
	Markdown string `json:"markdown" doc:"Of review.report."`
}

type commentOut struct {
	Posted bool   `json:"posted"`
	Why    string `json:"why,omitempty" doc:"why nothing was posted"`
}

// comment posts a report once. The comment ends with a line that names the head commit;
// if a comment with that line exists, nothing is posted. So repeated calls are
// idempotent.
func (e *engine) comment(ctx context.Context, in commentIn) (commentOut, error) {
	if in.Source.Number == 0 || in.Source.Project == "" || in.Source.Head == "" {
		return commentOut{}, fault.New(fault.InvalidParams, "source: only a pull or merge request of a known project has comments").
			Hinted(fault.Hint{Text: "give the address of the request as target"})
	}
	// The line is visible, since servers take HTML comments out of what they show to models.
	mark := reviewMark + in.Source.Head
	to, err := e.commentTools(in.Source, in.Markdown+"\n---\n"+mark+"\n")
	if err != nil {
		return commentOut{}, err
	}
	before, err := e.askPages(ctx, to.list, to.listArgs)
	if err != nil {
		return commentOut{}, err
	}
	if strings.Contains(strings.ToLower(strings.Join(before, "\n")), strings.ToLower(mark)) {
		return commentOut{Why: "a review of this commit was posted before"}, nil
	}
	var answer string
	return commentOut{Posted: true}, e.ask(ctx, to.add.Name, to.addArgs, &answer)
}

// commenting are the tools that list and add comments of a request, with their arguments.
type commenting struct {
	list, add         engines.Tool
	listArgs, addArgs map[string]any
}

// commentTools returns the tools of one mounted server that list and add comments.
func (e *engine) commentTools(at source, body string) (commenting, error) {
	if list, found := e.find(githubRead); found && at.Kind != kindGitLab {
		if add, found := e.toolOf(engines.EngineOf(list.Name), githubComment); found {
			owner, name, _ := strings.Cut(at.Project, "/")
			return commenting{list, add, at.githubArgs("get_comments"),
				map[string]any{"owner": owner, "repo": name, "issue_number": at.Number, "body": body}}, nil
		}
	}
	if list, found := e.find(gitlabNotes); found && at.Kind != kindGitHub {
		for _, name := range []string{gitlabComment, gitlabNote} {
			if add, found := e.toolOf(engines.EngineOf(list.Name), name); found {
				args := at.gitlabArgs(add)
				args["body"] = quickAction().ReplaceAllString(body, `$1\/`)
				return commenting{list, add, at.gitlabArgs(list), args}, nil
			}
		}
	}
	return commenting{}, fault.New(fault.EngineOffline, "no mounted server can list and add comments of requests").
		Hinted(fault.Hint{Text: "mount GitHub's or GitLab's MCP server in .savant/mcp.json"})
}

// quickAction matches the beginning of a line that GitLab would carry out, such as
// /merge. Its server refuses a comment with one, also in a quotation.
var quickAction = pattern.Lazy(`(?m)^([ \t]*)/(?:\b)`)
