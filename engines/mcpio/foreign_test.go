package mcpio_test

import (
	"context"
	"io"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"savant/engines/mcpio"
)

// person answers every question.
type person struct{}

func (person) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ada"}}}, nil
}

// mcp-go's own client lists and calls every tool, and is asked, in the revision
// with initialize and in the one without.
func TestForeignClient(t *testing.T) {
	for name, options := range map[string][]client.ClientOption{
		"initialize": {client.WithProtocolVersion(mcp.ProtocolVersion20251125)},
		"discover":   {client.WithProtocolVersion(mcp.ProtocolVersion20260728)},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := mcpio.New(exhibition(t))
			require.NoError(t, err)
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			go func() { _ = out.CloseWithError(server.Serve(context.Background(), in, out)) }()
			options := append(options, client.WithElicitationHandler(person{}))
			c := client.NewClient(transport.NewIO(fromServer, toServer, io.NopCloser(emptyReader{})), options...)
			require.NoError(t, c.Start(t.Context()))
			defer func() { require.NoError(t, c.Close()) }()
			var hello mcp.InitializeRequest
			hello.Params.ProtocolVersion = mcp.LATEST_LEGACY_PROTOCOL_VERSION
			hello.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1"}
			greeting, err := c.Initialize(t.Context(), hello)
			require.NoError(t, err)
			require.Equal(t, "Read the driver prompt first.", greeting.Instructions)
			callAll(t, c)
		})
	}
}

func callAll(t *testing.T, c *client.Client) {
	t.Helper()
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	require.NoError(t, err)
	require.Len(t, list.Tools, 9)
	for _, listed := range list.Tools {
		var call mcp.CallToolRequest
		call.Params.Name = listed.Name
		call.Params.Arguments = map[string]any{"a": 1, "b": 2}
		result, err := c.CallTool(t.Context(), call)
		require.NoError(t, err, listed.Name)
		require.NotNil(t, result.StructuredContent, listed.Name)
		if listed.Name == "test_ask" {
			require.Equal(t, map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}, result.StructuredContent)
		}
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, io.EOF }
