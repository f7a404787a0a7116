package mcpio

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"savant/fault"
)

// newProtocol builds the part of the server that mcp-go implements: negotiation,
// discovery, capabilities, and the metadata of results. Capabilities follow from the
// offer; listChanged requires its Watch.
func (s *Server) newProtocol() *server.MCPServer {
	offer := s.options.Offer
	watched := offer.Watch != nil
	options := []server.ServerOption{
		server.WithToolCapabilities(true),
		server.WithInstructions(offer.Instructions),
		server.WithTitle(s.options.Title),
		server.WithHooks(s.listHooks()),
		server.WithExtensions(map[string]any{tasksExtension: map[string]any{}}),
	}
	if offer.Prompts != nil {
		options = append(options, server.WithPromptCapabilities(watched))
	}
	if offer.ReadResource != nil {
		options = append(options, server.WithResourceCapabilities(false, watched))
	}
	if offer.Skills != nil {
		options = append(options, server.WithExtensions(map[string]any{skillsExtension: struct{}{}}))
	}
	if offer.Complete != nil {
		options = append(options, server.WithCompletions(),
			server.WithPromptCompletionProvider(completer{offer}),
			server.WithResourceCompletionProvider(completer{offer}))
	}
	return server.NewMCPServer(s.options.Name, s.options.Version, options...)
}

// icons are the icons of the server and its prompts.
func (s *Server) icons() []mcp.Icon {
	if s.options.Icon == nil {
		return nil
	}
	return []mcp.Icon{{Src: "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(s.options.Icon), MIMEType: "image/svg+xml", Sizes: []string{"any"}}}
}

// listHooks replace mcp-go's empty lists by this server's.
func (s *Server) listHooks() *server.Hooks {
	hooks := &server.Hooks{}
	hooks.AddOnError(reportInvalidParams)
	hooks.AddAfterInitialize(func(_ context.Context, _ any, asked *mcp.InitializeRequest, result *mcp.InitializeResult) {
		result.Instructions = s.spell(asked.Params.ClientInfo.Name, result.Instructions)
		result.ServerInfo.Icons = s.icons()
		result.Capabilities.Extensions = nil // they are of revision 2026-07-28
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, result *mcp.DiscoverResult) {
		result.Instructions = s.spell(requestFrom(ctx).session.client.Name, result.Instructions)
	})
	hooks.AddAfterListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
		asked := requestFrom(ctx)
		result.Tools = s.tools(asked.session.client.Name, asked.canShowApps())
	})
	hooks.AddAfterListPrompts(func(ctx context.Context, _ any, _ *mcp.ListPromptsRequest, result *mcp.ListPromptsResult) {
		result.Prompts = s.listPrompts(ctx)
	})
	hooks.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
		result.Resources = s.listResources(ctx)
	})
	hooks.AddAfterListResourceTemplates(func(_ context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, result *mcp.ListResourceTemplatesResult) {
		result.ResourceTemplates = s.listTemplates()
	})
	return hooks
}

// logCause logs the cause of an INTERNAL error, which its reply does not show. Errors
// of other codes are complete.
func (s *Server) logCause(text, in string, coded *fault.Error) {
	if causes := coded.Unwrap(); coded.Code == fault.Internal && len(causes) > 1 {
		s.logger.Error(text, "in", in, "cause", errors.Join(causes[1:]...).Error())
	}
}

// logPanic logs the value and place of a panic, which the client must not see.
func (s *Server) logPanic(where string, panicked any) {
	s.logger.Error("panic", "in", where, "panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
}
