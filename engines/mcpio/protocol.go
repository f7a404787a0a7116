package mcpio

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
)

// handler returns what answers a request, for the methods that the offer and the request's
// revision have; else nil. subscriptions/listen and tools/call have their own ways.
func (r *request) handler() func(context.Context) (mcp.ResultMetadata, error) {
	offer, modern := r.connection.server.options.Offer, r.Peer.modern
	switch method := mcp.MCPMethod(r.Method); {
	case method == mcp.MethodInitialize && !modern:
		return r.negotiate
	case method == mcp.MethodPing && !modern:
		return func(context.Context) (mcp.ResultMetadata, error) { return &mcp.Result{}, nil }
	case method == mcp.MethodServerDiscover && modern:
		return r.discover
	case isTaskMethod(r.Method):
		return r.aboutTask
	case method == mcp.MethodToolsList:
		return r.listTools
	case method == mcp.MethodPromptsList && offer.Prompts != nil:
		return r.listPrompts
	case method == mcp.MethodPromptsGet && offer.Prompts != nil:
		return r.getPrompt
	case method == mcp.MethodResourcesList && offer.ReadResource != nil:
		return r.listResources
	case method == mcp.MethodResourcesTemplatesList && offer.ReadResource != nil:
		return r.listTemplates
	case method == mcp.MethodResourcesRead && offer.ReadResource != nil:
		return r.readResource
	case method == mcp.MethodCompletionComplete && offer.Complete != nil:
		return r.complete
	case r.Method == methodSkillsList && offer.Skills != nil:
		return r.listSkills
	case r.Method == methodSkillsGet && offer.Skills != nil:
		return r.getSkill
	}
	return nil
}

// unknownMethod refuses a method that the server does not have in the request's revision.
func (r *request) unknownMethod() *jsonrpc.Reply {
	text := "Method " + fault.Cut(r.Method, maxEcho) + " not found"
	switch method := mcp.MCPMethod(r.Method); {
	case r.Peer.modern && (method == mcp.MethodInitialize || method == mcp.MethodPing):
		text = fmt.Sprintf("%q was removed in protocol version %s", method, mcp.ProtocolVersion20260728)
	case method == mcp.MethodServerDiscover || method == mcp.MethodSubscriptionsListen:
		text = fmt.Sprintf("%q requires protocol version %s or later", method, mcp.ProtocolVersion20260728)
	}
	return jsonrpc.Fail(r.ID, jsonrpc.MethodNotFound, text, nil)
}

// negotiate answers initialize: it agrees on a revision and learns about the client.
func (r *request) negotiate(context.Context) (mcp.ResultMetadata, error) {
	var asked mcp.InitializeParams
	err := r.read(map[string]any{"protocolVersion": &asked.ProtocolVersion, "capabilities": &asked.Capabilities, "clientInfo": &asked.ClientInfo})
	if err != nil {
		return nil, err
	}
	s, agreed := r.connection.server, mcp.NegotiateLegacyVersion(asked.ProtocolVersion)
	r.Peer.Protocol = agreed
	r.Peer.identify(asked.ClientInfo)
	r.Peer.declare(asked.Capabilities)
	identity := s.implementation()
	identity.Icons = s.icons(identity.Name)
	return &mcp.InitializeResult{ProtocolVersion: agreed, ServerInfo: identity, Capabilities: s.capabilities(),
		Instructions: s.spell(asked.ClientInfo.Name, s.options.Offer.Instructions)}, nil
}

// discover answers server/discover, which takes the place of initialize.
func (r *request) discover(context.Context) (mcp.ResultMetadata, error) {
	s := r.connection.server
	capabilities := s.capabilities()
	capabilities.Extensions = map[string]any{tasksExtension: map[string]any{}}
	if s.options.Offer.Skills != nil {
		capabilities.Extensions[skillsExtension] = map[string]any{}
	}
	return &mcp.DiscoverResult{SupportedVersions: mcp.ValidProtocolVersions, Capabilities: capabilities,
		Instructions: s.spell(r.Peer.Name, s.options.Offer.Instructions)}, nil
}

// implementation identifies the server.
func (s *Server) implementation() mcp.Implementation {
	return mcp.Implementation{Name: "savant", Title: s.options.Title, Version: s.options.Version}
}

// capabilities follow from the offer. The registry announces its changes; prompts and
// resources change only where the offer watches them.
func (s *Server) capabilities() (has mcp.ServerCapabilities) {
	type announced = struct {
		ListChanged bool `json:"listChanged,omitempty"`
	}
	offer := s.options.Offer
	watched := offer.Watch != nil
	has.Tools = &announced{true}
	if offer.Prompts != nil {
		has.Prompts = &announced{watched}
	}
	if offer.ReadResource != nil {
		has.Resources = &struct {
			Subscribe   bool `json:"subscribe,omitempty"`
			ListChanged bool `json:"listChanged,omitempty"`
		}{ListChanged: watched}
	}
	if offer.Complete != nil {
		has.Completions = &struct{}{}
	}
	return has
}

// icons are the icons of an engine's tools, or of savant.
func (s *Server) icons(name string) []mcp.Icon {
	picture := s.options.Icons[name]
	if picture == nil {
		return nil
	}
	return []mcp.Icon{{Src: "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture), MIMEType: "image/png"}}
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
