package mcpio

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
)

// maxCompletions is the protocol's maximum number of completion values.
const maxCompletions = 100

// readCursor refuses a cursor: each list is one page, and none has a next one.
func (r *request) readCursor() error {
	var cursor string
	if err := r.read(map[string]any{"cursor": &cursor}); err != nil || cursor == "" {
		return err
	}
	return r.invalid(invalidParams(r.Method) + ": params.cursor is of no page; the list is one page")
}

// listTools answers tools/list.
func (r *request) listTools(context.Context) (mcp.ResultMetadata, error) {
	return &mcp.ListToolsResult{Tools: r.connection.server.tools(r.Peer, r.canShowApps())}, nil
}

// listPrompts answers prompts/list.
func (r *request) listPrompts(ctx context.Context) (mcp.ResultMetadata, error) {
	s := r.connection.server
	prompts, err := s.options.Offer.Prompts(ctx)
	if err != nil {
		return nil, r.fail(mcp.INTERNAL_ERROR, err)
	}
	list := make([]mcp.Prompt, 0, len(prompts))
	for _, prompt := range prompts {
		entry := mcp.Prompt{Name: prompt.Name, Title: visible.Line(prompt.Title), Description: visible.Text(prompt.Description), Icons: s.icons("savant")}
		for _, argument := range prompt.Arguments {
			entry.Arguments = append(entry.Arguments, mcp.PromptArgument{
				Name: argument.Name, Description: visible.Text(argument.Description), Required: argument.Required})
		}
		list = append(list, entry)
	}
	return &mcp.ListPromptsResult{Prompts: list}, nil
}

// getPrompt answers prompts/get. An unknown prompt or a missing argument is -32602; the
// error's data is the fault object.
func (r *request) getPrompt(ctx context.Context) (mcp.ResultMetadata, error) {
	prompt, err := r.connection.server.findPrompt(ctx, r)
	if err != nil {
		return nil, r.fail(mcp.INVALID_PARAMS, err)
	}
	args, err := promptArguments(prompt, r.params.Arguments)
	if err != nil {
		return nil, r.fail(mcp.INVALID_PARAMS, err)
	}
	content, err := prompt.Get(ctx, engines.Caller{Spell: r.speller()}, args)
	if err != nil {
		return nil, r.fail(mcp.INVALID_PARAMS, err)
	}
	return &mcp.GetPromptResult{Description: visible.Text(prompt.Description), Messages: []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.NewTextContent(content)}}}, nil
}

func (s *Server) findPrompt(ctx context.Context, r *request) (engines.Prompt, error) {
	name, _ := textOf(r.params.Name)
	prompts, err := s.options.Offer.Prompts(ctx)
	if err != nil {
		return engines.Prompt{}, err
	}
	names := make([]string, len(prompts))
	for i, prompt := range prompts {
		if prompt.Name == name {
			return prompt, nil
		}
		names[i] = prompt.Name
	}
	return engines.Prompt{}, fault.New(fault.PromptNotFound, "no prompt is named %q", fault.Cut(name, 100)).Hinted(fault.HintOf(name, names))
}

// promptArguments returns the arguments as text. The protocol has only strings here;
// other values become their JSON. A missing required argument is an error.
func promptArguments(prompt engines.Prompt, raw json.RawMessage) (map[string]string, error) {
	args := map[string]string{}
	if raw != nil {
		var given map[string]json.RawMessage
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, fault.New(fault.InvalidParams, "the arguments of a prompt are an object of strings")
		}
		for name, value := range given {
			if content, isText := textOf(value); isText {
				args[name] = content
			} else if string(value) != "null" {
				args[name] = string(value)
			}
		}
	}
	for _, argument := range prompt.Arguments {
		if _, given := args[argument.Name]; argument.Required && !given {
			return nil, fault.New(fault.InvalidParams, "prompt %s needs the argument %s", prompt.Name, argument.Name).
				With(fault.Diagnostic{Path: "arguments." + argument.Name, Message: "is required"})
		}
	}
	return args, nil
}

// listResources answers resources/list.
func (r *request) listResources(ctx context.Context) (mcp.ResultMetadata, error) {
	list := []mcp.Resource{}
	offer := r.connection.server.options.Offer
	if offer.Resources == nil {
		return &mcp.ListResourcesResult{Resources: list}, nil
	}
	resources, err := offer.Resources(ctx)
	if err != nil {
		return nil, r.fail(mcp.INTERNAL_ERROR, err)
	}
	for _, resource := range resources {
		list = append(list, mcp.Resource{URI: resource.URI, Name: resource.Name, Title: resource.Title,
			Description: resource.Description, MIMEType: resource.MIMEType})
	}
	return &mcp.ListResourcesResult{Resources: list}, nil
}

// listTemplates answers resources/templates/list.
func (r *request) listTemplates(context.Context) (mcp.ResultMetadata, error) {
	list := []mcp.ResourceTemplate{}
	for _, template := range r.connection.server.options.Offer.ResourceTemplates {
		if entry, err := publishTemplate(template); err == nil { // New has validated it
			list = append(list, entry)
		}
	}
	return &mcp.ListResourceTemplatesResult{ResourceTemplates: list}, nil
}

func publishTemplate(template engines.ResourceTemplate) (mcp.ResourceTemplate, error) {
	parsed := &mcp.URITemplate{}
	quoted, err := json.Marshal(template.URITemplate)
	if err == nil {
		err = parsed.UnmarshalJSON(quoted)
	}
	return mcp.ResourceTemplate{URITemplate: parsed, Name: template.Name, Title: template.Title,
		Description: template.Description, MIMEType: template.MIMEType}, err
}

// readResource answers resources/read. An unknown resource is -32002, and -32602 from
// revision 2026-07-28 on; the error's data is the fault object.
func (r *request) readResource(ctx context.Context) (mcp.ResultMetadata, error) {
	uri, isText := textOf(r.params.URI)
	if !isText {
		return nil, r.fail(mcp.INVALID_PARAMS, fault.New(fault.InvalidParams, "params.uri is not a string"))
	}
	if r.canShowApps() {
		if page, found := r.connection.server.options.Apps.Page(uri, r.identity()); found {
			return pageResult(uri, page), nil
		}
	}
	content, mimeType, err := r.connection.server.options.Offer.ReadResource(ctx, uri)
	if err != nil {
		code := mcp.RESOURCE_NOT_FOUND
		if r.Peer.modern {
			code = mcp.INVALID_PARAMS
		}
		unread := *fault.From(err)
		unread.Extra = maps.Clone(unread.Extra)
		return nil, r.fail(code, unread.Attach("uri", fault.Cut(uri, maxEcho)))
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: content}}}, nil
}

// pageResult is a page for the client. It needs no network.
func pageResult(uri, page string) *mcp.ReadResourceResult {
	none := []string{}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: MIMETypeApp, Text: page,
		Meta: map[string]any{"ui": map[string]any{"csp": map[string]any{"connectDomains": none, "resourceDomains": none}, "prefersBorder": true}}}}}
}

// complete answers completion/complete for prompts and resource templates.
func (r *request) complete(ctx context.Context) (mcp.ResultMetadata, error) {
	var ref struct{ Type, Name, URI string }
	var argument mcp.CompleteArgument
	var chosen mcp.CompleteContext
	if err := r.read(map[string]any{"ref": &ref, "argument": &argument, "context": &chosen}); err != nil {
		return nil, err
	}
	of := map[string]string{"ref/prompt": ref.Name, "ref/resource": ref.URI}
	name, known := of[ref.Type]
	if !known {
		return nil, r.invalid(invalidParams(r.Method) + ": params.ref.type is neither ref/prompt nor ref/resource")
	}
	values, err := r.connection.server.options.Offer.Complete(ctx, name, argument.Name, argument.Value, chosen.Arguments)
	if err != nil {
		return nil, r.fail(mcp.INVALID_PARAMS, err)
	}
	shown := append([]string{}, values[:min(len(values), maxCompletions)]...)
	return &mcp.CompleteResult{Completion: mcp.Completion{Values: shown, Total: len(values), HasMore: len(shown) < len(values)}}, nil
}

// The Skills extension (SEP-2640): each skill is one file, read as a resource.
const (
	skillsExtension  = "io.modelcontextprotocol/skills"
	methodSkillsList = "skills/list"
	methodSkillsGet  = "skills/get"
)

// skillEntry describes a skill with the digest of each of its files.
type skillEntry struct {
	URI         string          `json:"uri"`
	Frontmatter map[string]any  `json:"frontmatter"`
	Resources   []skillResource `json:"resources"`
}

type skillResource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

type skillsResult struct {
	mcp.CacheableResult
	Skills []skillEntry `json:"skills"`
}

type skillResult struct {
	mcp.CacheableResult
	Skill skillEntry `json:"skill"`
}

func entryOf(skill engines.Skill) skillEntry {
	uri := engines.SkillURI(skill.Name)
	return skillEntry{uri, skill.Frontmatter, []skillResource{{uri, jsonvalue.SHA256(jsonvalue.HexSum([]byte(skill.Text))), len(skill.Text)}}}
}

// listSkills answers skills/list, with all of them on one page.
func (r *request) listSkills(ctx context.Context) (mcp.ResultMetadata, error) {
	skills, err := r.connection.server.options.Offer.Skills(ctx)
	if err != nil {
		return nil, r.fail(mcp.INTERNAL_ERROR, err)
	}
	result := &skillsResult{Skills: []skillEntry{}}
	for _, each := range skills {
		result.Skills = append(result.Skills, entryOf(each))
	}
	return result, nil
}

// getSkill answers skills/get: -32602 for an address of no skill.
func (r *request) getSkill(ctx context.Context) (mcp.ResultMetadata, error) {
	skills, err := r.connection.server.options.Offer.Skills(ctx)
	if err != nil {
		return nil, r.fail(mcp.INTERNAL_ERROR, err)
	}
	uri, _ := textOf(r.params.URI)
	at := slices.IndexFunc(skills, func(each engines.Skill) bool { return engines.SkillURI(each.Name) == uri })
	if at < 0 {
		return nil, r.fail(mcp.INVALID_PARAMS, fault.New(fault.InvalidParams, "there is no skill %q", fault.Cut(uri, maxEcho)))
	}
	return &skillResult{Skill: entryOf(skills[at])}, nil
}
