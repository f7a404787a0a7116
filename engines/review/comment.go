package review

import (
	"context"
	"fmt"
	"strings"

	"savant/engines"
	"savant/fault"
)

// The tools of mounted servers that read and write comments, GitHub's first.
const (
	githubComment = "add_issue_comment"
	gitlabComment = "create_merge_request_note"
	gitlabNotes   = "get_merge_request_notes"
)

type commentIn struct {
	Source   source `json:"source" doc:"Of review.change."`
	Markdown string `json:"markdown" doc:"Of review.report."`
}

type commentOut struct {
	Posted bool   `json:"posted"`
	Why    string `json:"why,omitempty" doc:"why nothing was posted"`
}

// comment posts a report once. The comment carries a mark with the head commit; if a
// comment with the same mark exists, nothing is posted. So repeated calls are
// idempotent.
func (e *engine) comment(ctx context.Context, in commentIn) (commentOut, error) {
	if in.Source.Number == 0 || in.Source.Project == "" || in.Source.Head == "" {
		return commentOut{}, fault.New(fault.InvalidParams, "source: only a pull or merge request of a known project has comments").
			Hinted(fault.Hint{Text: "give the address of the request as target"})
	}
	mark := fmt.Sprintf("<!-- savant review of %s -->", in.Source.Head)
	body := in.Markdown + "\n" + mark + "\n"
	read, readArgs, write, writeArgs, err := e.commentTools(in.Source, body)
	if err != nil {
		return commentOut{}, err
	}
	before, err := e.askPages(ctx, read, readArgs)
	if err != nil {
		return commentOut{}, err
	}
	// JSON may escape < and >, so only the text with the commit is compared.
	if strings.Contains(strings.Join(before, "\n"), "savant review of "+in.Source.Head) {
		return commentOut{Why: "a review of this commit was posted before"}, nil
	}
	var answer string
	return commentOut{Posted: true}, e.ask(ctx, write, writeArgs, &answer)
}

// commentTools returns the tools that list and add comments of a request, with their
// arguments.
func (e *engine) commentTools(at source, body string) (read engines.Tool, readArgs map[string]any, write string, writeArgs map[string]any, err error) {
	adds, found := e.find(githubComment)
	if lists, listed := e.find(githubRead); found && listed {
		owner, name, _ := strings.Cut(at.Project, "/")
		return lists, at.githubArgs("get_comments"), adds.Name, map[string]any{"owner": owner, "repo": name, "issue_number": at.Number, "body": body}, nil
	}
	adds, found = e.find(gitlabComment)
	if lists, listed := e.find(gitlabNotes); found && listed {
		args := at.gitlabArgs(adds)
		args["body"] = body
		return lists, at.gitlabArgs(lists), adds.Name, args, nil
	}
	return engines.Tool{}, nil, "", nil, fault.New(fault.EngineOffline, "no mounted server lists and adds comments of requests").
		Hinted(fault.Hint{Text: "mount GitHub's or GitLab's MCP server in .savant/mcp.json"})
}
