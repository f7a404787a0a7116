package mcpio

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// Revision 2026-07-28 repeats parts of a message in HTTP headers so that proxies can
// route it. A server must refuse a message that contradicts its headers.

// Names of headers.
const (
	HeaderRevision = mcp.HeaderProtocolVersion
	HeaderSession  = mcp.HeaderSessionID
)

// OldestHTTP is the first revision with Streamable HTTP, and the default for a client
// that names no revision.
const OldestHTTP = mcp.ProtocolVersion20250326

// HasSessions reports whether a revision, as named in a header, has sessions and a
// stream for server messages; revisions from 2026-07-28 on have neither.
func HasSessions(revision string) bool { return !mcp.IsModernProtocol(revision) }

// RevisionOf returns the revision of a message over HTTP, from its header or its
// content; the later one if they differ.
func RevisionOf(header http.Header, m *jsonrpc.Message) string {
	return max(header.Get(HeaderRevision), statedRevision(m))
}

func statedRevision(m *jsonrpc.Message) string {
	return jsonvalue.TextMember(jsonvalue.Member(m.Params, "_meta"), mcp.MetaKeyProtocolVersion)
}

// CheckHeaders returns the reply that refuses a message because its headers are
// missing, contradict it, or name an unsupported revision; else nil.
func (s *Server) CheckHeaders(header http.Header, m *jsonrpc.Message) *jsonrpc.Reply {
	named, stated := header.Get(HeaderRevision), statedRevision(m)
	id := m.ID
	if id == nil {
		id = jsonrpc.NoID
	}
	mismatch := func(why string) *jsonrpc.Reply { return jsonrpc.Fail(id, mcp.HEADER_MISMATCH, why, nil) }
	for name, values := range header {
		if len(values) > 1 && strings.HasPrefix(name, "Mcp-") { // in the canonical form of net/http
			return mismatch("the header " + name + " appears twice")
		}
	}
	modern := !HasSessions(named) || !HasSessions(stated)
	switch {
	case !modern && named != "" && !mcp.IsValidProtocolVersion(named):
		return unsupported(id, named)
	case !modern || m.IsNotification():
		return nil
	case m.IsResponse():
		return jsonrpc.Fail(id, jsonrpc.InvalidRequest, "from revision "+mcp.ProtocolVersion20260728+" on, a client sends no responses: it repeats the request with the answers", nil)
	case named == "":
		return mismatch("the header " + HeaderRevision + " is missing")
	case stated == "":
		return jsonrpc.Fail(id, jsonrpc.InvalidParams, "missing or invalid _meta field "+mcp.MetaKeyProtocolVersion, nil)
	case named != stated:
		return mismatch("the header " + HeaderRevision + " is " + fault.Cut(named, maxEcho) + ", and the message says " + fault.Cut(stated, maxEcho))
	case !mcp.IsValidProtocolVersion(named):
		return unsupported(id, named)
	}
	if err := mcp.ValidateStandardHeaders(header.Get, named, mcp.MCPMethod(m.Method), m.Params); err != nil {
		return mismatch(fault.Cut(err.Error(), 3*maxEcho))
	}
	if err := checkTaskHeader(header, m); err != nil {
		return mismatch(err.Error())
	}
	if err := s.checkParamHeaders(header, m); err != nil {
		return mismatch(fault.Cut(err.Error(), 3*maxEcho))
	}
	return nil
}

// checkTaskHeader compares the header that routes a request about a task.
func checkTaskHeader(header http.Header, m *jsonrpc.Message) error {
	id := jsonvalue.TextMember(m.Params, "taskId")
	if !isTaskMethod(m.Method) || header.Get(mcp.HeaderName) == id {
		return nil
	}
	return fmt.Errorf("the header %s is %q, and the message says %q", mcp.HeaderName, fault.Cut(header.Get(mcp.HeaderName), maxEcho), fault.Cut(id, maxEcho))
}

// checkParamHeaders compares the arguments that a tool's schema requires in headers.
func (s *Server) checkParamHeaders(header http.Header, m *jsonrpc.Message) error {
	if m.Method != string(mcp.MethodToolsCall) {
		return nil
	}
	tool, known := s.options.Registry.Resolve(jsonvalue.TextMember(m.Params, "name"))
	if !known || !bytes.Contains(tool.InputSchema(), []byte("x-mcp-header")) {
		return nil
	}
	return mcp.ValidateParamHeadersLookup(func(name string) (string, bool) {
		values := header.Values(name)
		if len(values) == 0 {
			return "", false
		}
		return values[0], true
	}, &mcp.Tool{Name: tool.Name, RawInputSchema: tool.InputSchema()}, m.Params)
}

func unsupported(id []byte, revision string) *jsonrpc.Reply {
	failure := mcp.UnsupportedProtocolVersionError{Version: fault.Cut(revision, maxEcho), Supported: mcp.ValidProtocolVersions}.JSONRPCError().Error
	return jsonrpc.Fail(id, failure.Code, failure.Message, failure.Data)
}
