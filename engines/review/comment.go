package review

import (
	"context"
	"strings"

	"github.com/tidwall/gjson"

	"savant/fault"
	"savant/internal/pattern"
	"savant/internal/redact"
)

// reviewMark begins the last line of a posted review, before its head commit.
const reviewMark = "Savant review of "

type commentIn struct {
	Source   source `json:"source" list:"brief" doc:"Of review.change." example:"{\"base\":\"main\",\"head\":\"feature\",\"merge_base\":true}"`
	Markdown string `json:"markdown" doc:"Of review.report." example:"# Review of pull request 12"`
}

type commentOut struct {
	Posted bool   `json:"posted"`
	Why    string `json:"why,omitempty" doc:"why nothing was posted"`
}

// comment posts a report once. The comment ends with a line that names the head commit;
// if a comment with that line exists, nothing is posted. So repeated calls are
// idempotent. What looks like a secret is taken out: more people read it than the change.
func (e *engine) comment(ctx context.Context, in commentIn) (commentOut, error) {
	if in.Source.Number == 0 || in.Source.Project == "" || in.Source.Head == "" {
		return commentOut{}, fault.New(fault.InvalidParams, "source: only a pull or merge request of a known project has comments").
			Hinted(fault.Hint{Text: "give the address of the request as target"})
	}
	// The line is visible, since servers take HTML comments out of what they show to models.
	mark := reviewMark + in.Source.Head
	list, add, err := e.commentTools(in.Source, redact.Shapes().Text(in.Markdown)+"\n---\n"+mark+"\n")
	if err != nil {
		return commentOut{}, err
	}
	before, err := e.askPages(ctx, list)
	if err != nil {
		return commentOut{}, err
	}
	for _, each := range before {
		if strings.TrimSpace(each) != "" && !gjson.Valid(each) {
			return commentOut{}, fault.New(fault.ToolFailed, "nothing was posted: %s did not list the comments, but answered: %s", list.tool.Name, fault.Cut(plain(each), 200))
		}
	}
	if strings.Contains(strings.ToLower(strings.Join(before, "\n")), strings.ToLower(mark)) {
		return commentOut{Why: "a review of this commit was posted before"}, nil
	}
	_, err = e.ask(ctx, add)
	return commentOut{Posted: true}, err
}

// commentTools returns the calls of one mounted server that list comments and add one.
func (e *engine) commentTools(at source, body string) (list, add asking, err error) {
	for _, kind := range forgeKinds {
		list, listed := e.about(at, kind, kind.discussion[0])
		if !listed {
			continue
		}
		same := at
		same.Forge = list.engine()
		for _, name := range kind.comment {
			if add, found := e.about(same, kind, name); found {
				add.args["body"] = body
				if kind.name == kindGitLab {
					add.args["body"] = quickAction().ReplaceAllString(body, `$1\/`)
				}
				return list, add, nil
			}
		}
	}
	return list, add, fault.New(fault.EngineOffline, "no mounted server can list and add comments of requests").
		Hinted(fault.Hint{Text: "mount GitHub's or GitLab's MCP server in .savant/mcp.json"})
}

// quickAction matches the beginning of a line that GitLab would carry out, such as
// /merge. Its server refuses a comment with one, also in a quotation.
var quickAction = pattern.Lazy(`(?m)^([ \t]*)/(?:\b)`)
