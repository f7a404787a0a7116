package mcpclient

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
)

// serverInfo describes the server: the result of initialize, or of server/discover in
// revisions without initialize.
type serverInfo struct {
	ProtocolVersion string `json:"protocolVersion"`
	ServerInfo      struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"serverInfo"`
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
	if err == nil {
		err = decodeReply(answer, server)
	}
	if err != nil {
		return err
	}
	c.link.agree(server.ProtocolVersion)
	return c.link.notify(ctx, jsonrpc.Notify(string(mcp.MethodNotificationInitialized), nil))
}

// lacksInitialize reports whether initialize failed in the way of servers of revision
// 2026-07-28 and later.
func lacksInitialize(err error) bool {
	var failure *rpcError
	return errors.As(err, &failure) || errors.Is(err, errNotLegacy)
}

// errNotLegacy is the cause if the server does not support initialize.
var errNotLegacy = errors.New("the server does not support initialize")

// discover negotiates revision 2026-07-28, where every request carries the client's
// information.
func (c *Client) discover(ctx context.Context, server *serverInfo) error {
	assumed := &serverInfo{ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION}
	c.link.agree(assumed.ProtocolVersion)
	answer, err := c.link.ask(ctx, string(mcp.MethodServerDiscover), c.enveloped(assumed, nil))
	var found struct {
		Supported []string       `json:"supportedVersions"`
		Meta      map[string]any `json:"_meta"`
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
	server.ProtocolVersion = assumed.ProtocolVersion
	if info, is := found.Meta[mcp.MetaKeyServerInfo].(map[string]any); is {
		server.ServerInfo.Name, _ = info["name"].(string)
		server.ServerInfo.Version, _ = info["version"].(string)
	}
	return nil
}
