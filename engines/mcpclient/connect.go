package mcpclient

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// serverInfo describes the server, as far as it says: from the result of initialize, or of
// server/discover in revisions without initialize.
type serverInfo struct{ name, version, protocol string }

// describe reads what the server calls itself.
func (s *serverInfo) describe(info json.RawMessage) {
	s.name, s.version = plain(jsonvalue.Member(info, "name")), plain(jsonvalue.Member(info, "version"))
}

// connect initializes the connection, or discovers a server without initialize.
func (c *Client) connect(ctx context.Context) error {
	server := new(serverInfo)
	err := c.initialize(ctx, server)
	if err != nil && lacksInitialize(err) && ctx.Err() == nil {
		if c.discover(ctx, server) == nil {
			err = nil
		}
	}
	if err == nil {
		c.server = server
	}
	return err
}

func (c *Client) initialize(ctx context.Context, server *serverInfo) error {
	answer, err := c.link.ask(ctx, string(mcp.MethodInitialize), map[string]any{
		"protocolVersion": mcp.LATEST_LEGACY_PROTOCOL_VERSION,
		"capabilities":    struct{}{},
		"clientInfo":      map[string]any{"name": c.options.Name, "version": c.options.Version},
	})
	var given map[string]json.RawMessage
	if err == nil {
		err = decodeReply(answer, &given)
	}
	if err != nil {
		return err
	}
	server.describe(given["serverInfo"])
	server.protocol = jsonvalue.Text(given["protocolVersion"])
	c.link.agree(server.protocol)
	return c.link.notify(ctx, jsonrpc.Notify(string(mcp.MethodNotificationInitialized), nil))
}

// lacksInitialize reports whether initialize failed in the way of servers of revision
// 2026-07-28 and later.
func lacksInitialize(err error) bool {
	var failure rpcError
	return errors.As(err, &failure) || errors.Is(err, errNotLegacy)
}

// errNotLegacy is the cause if the server does not support initialize.
var errNotLegacy = errors.New("the server does not support initialize")

// discover negotiates revision 2026-07-28, where every request carries the client's
// information.
func (c *Client) discover(ctx context.Context, server *serverInfo) error {
	assumed := &serverInfo{protocol: mcp.LATEST_PROTOCOL_VERSION}
	c.link.agree(assumed.protocol)
	answer, err := c.link.ask(ctx, string(mcp.MethodServerDiscover), c.enveloped(assumed, nil))
	var found struct {
		Supported []string        `json:"supportedVersions"`
		Meta      json.RawMessage `json:"_meta"`
	}
	if err == nil {
		err = decodeReply(answer, &found)
	}
	if err != nil {
		return err
	}
	if version := mcp.NegotiateMutuallySupportedVersion(found.Supported); !mcp.IsModernProtocol(version) {
		return fault.New(fault.EngineOffline, "the server supports no protocol revision that Savant supports")
	}
	server.protocol = assumed.protocol
	server.describe(jsonvalue.Member(found.Meta, mcp.MetaKeyServerInfo))
	return nil
}
