// Package lsp answers an editor in the Language Server Protocol: what is wrong with a
// workflow, its cases or rules while they are written, what could be written next, and
// what a name means. It judges as `savant workflows validate` and `savant rules check`
// do, over the texts as they stand in the editor. It calls no tool and writes nothing.
package lsp

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"

	"savant/fault"
	"savant/rules"
	"savant/think"
	"savant/think/library"
)

// Project is the folder that is edited, with the tools of the program.
type Project interface {
	rules.Tools
	// Describe says what a tool does; "" for an unknown one.
	Describe(tool string) string
	// Engine returns Think over the project's files as over shows them.
	Engine(over func(fs.FS) fs.FS) *think.Engine
	// Folder is the absolute folder of the project.
	Folder() string
}

// Serve answers an editor until it says exit, the input ends or ctx does.
func Serve(ctx context.Context, in io.Reader, out io.Writer, project Project, logger *slog.Logger) error {
	open := &documents{files: map[string]*text{}}
	s := &server{project: project, open: open, encoding: inUTF16, changed: make(chan struct{}, 1), logger: logger}
	s.engine = project.Engine(func(files fs.FS) fs.FS { s.files = overlay{files, open}; return s.files })
	defer s.engine.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.rpc = jrpc2.NewServer(s.methods(), &jrpc2.ServerOptions{AllowPush: true, Concurrency: 4, NewContext: func() context.Context { return ctx }})
	reader, writer := io.Pipe()
	go func() { _, err := io.Copy(writer, in); _ = writer.CloseWithError(err) }() // ends with in
	s.rpc.Start(&frames{from: bufio.NewReaderSize(reader, 64<<10), to: out, end: reader.Close})
	var judging sync.WaitGroup
	judging.Go(func() { s.judge(ctx) })
	go func() { <-ctx.Done(); s.rpc.Stop() }()
	err := s.rpc.Wait()
	stop()
	judging.Wait()
	if err != nil && ctx.Err() == nil {
		return fault.New(fault.Internal, "the editor's messages: %w", err)
	}
	return nil
}

// server holds one editor's session.
type server struct {
	project  Project
	engine   *think.Engine
	files    fs.FS // of the project, as the editor has them
	rpc      *jrpc2.Server
	open     *documents
	encoding encoding // set by initialize, before any document
	changed  chan struct{}
	logger   *slog.Logger
}

func (s *server) methods() handler.Map {
	return handler.Map{
		"initialize":                       handler.New(s.initialize),
		"initialized":                      handler.New(nothing),
		"shutdown":                         handler.New(func(context.Context) (any, error) { return nil, nil }),
		"exit":                             handler.New(func(context.Context) error { go s.rpc.Stop(); return nil }),
		"$/cancelRequest":                  handler.New(s.cancel),
		"$/setTrace":                       handler.New(nothing),
		"workspace/didChangeConfiguration": handler.New(nothing),
		"workspace/didChangeWatchedFiles":  handler.New(func(context.Context, any) error { s.wake(); return nil }),
		"textDocument/didOpen":             handler.New(s.didOpen),
		"textDocument/didChange":           handler.New(s.didChange),
		"textDocument/didSave":             handler.New(func(context.Context, any) error { s.wake(); return nil }),
		"textDocument/didClose":            handler.New(s.didClose),
		"textDocument/completion":          handler.New(s.complete),
		"textDocument/hover":               handler.New(s.hover),
		"textDocument/definition":          handler.New(s.definition),
		"textDocument/documentSymbol":      handler.New(s.symbols),
		"textDocument/codeAction":          handler.New(s.cures),
	}
}

func nothing(context.Context, any) error { return nil }

func (s *server) initialize(_ context.Context, in initializing) (any, error) {
	for _, each := range in.Capabilities.General.PositionEncodings {
		if encoding(each) == inUTF8 {
			s.encoding = inUTF8
		}
	}
	return map[string]any{
		"serverInfo": map[string]any{"name": "savant"},
		"capabilities": map[string]any{
			"positionEncoding":       s.encoding,
			"textDocumentSync":       map[string]any{"openClose": true, "change": 1, "save": true},
			"completionProvider":     map[string]any{"triggerCharacters": []string{".", ":", " ", "{", "["}},
			"hoverProvider":          true,
			"definitionProvider":     true,
			"documentSymbolProvider": true,
			"codeActionProvider":     map[string]any{"codeActionKinds": []string{"quickfix"}},
		},
	}, nil
}

func (s *server) cancel(ctx context.Context, in canceled) error {
	jrpc2.ServerFromContext(ctx).CancelRequest(string(in.ID))
	return nil
}

func (s *server) didOpen(_ context.Context, in openedDocument) error {
	s.open.set(s.document(in.TextDocument.URI), in.TextDocument.Version, in.TextDocument.Text)
	s.wake()
	return nil
}

// didChange takes the whole text, as the server asked for it.
func (s *server) didChange(_ context.Context, in changedDocument) error {
	for _, each := range in.ContentChanges {
		if each.Range == nil {
			s.open.set(s.document(in.TextDocument.URI), in.TextDocument.Version, each.Text)
		}
	}
	s.wake()
	return nil
}

func (s *server) didClose(ctx context.Context, in inDocument) error {
	s.open.forget(in.TextDocument.URI)
	s.wake()
	return s.rpc.Notify(ctx, "textDocument/publishDiagnostics", published{URI: in.TextDocument.URI, Diagnostics: []diagnostic{}})
}

// wake has the open documents judged again.
func (s *server) wake() {
	select {
	case s.changed <- struct{}{}:
	default: // they will be
	}
}

// kind is what a document is.
type kind int

const (
	unknown kind = iota
	ofWorkflow
	ofCases
	ofRules
	ofRuleCases
	elsewhere // it would be a workflow if it were in the project
)

// schema is the name of the JSON Schema of a kind, "" for none.
func (k kind) schema() string {
	return map[kind]string{ofWorkflow: "workflow", ofCases: "cases", ofRules: "rules"}[k]
}

// document returns a text without content: its place and its kind.
func (s *server) document(uri string) text {
	t := text{uri: uri, name: relativePath(s.project.Folder(), uri)}
	switch extension := strings.ToLower(path.Ext(t.name)); {
	case t.name == "" && strings.Contains(uri, "/workflows/") && !strings.Contains(uri, "/.github/"):
		t.kind = elsewhere
	case extension != ".yaml" && extension != ".yml":
	case strings.HasPrefix(t.name, "workflows/") && strings.HasSuffix(strings.ToLower(t.name), library.CasesSuffix):
		t.kind = ofCases
	case strings.HasPrefix(t.name, "workflows/"):
		t.kind = ofWorkflow
	case strings.HasPrefix(t.name, "rules/") && strings.HasSuffix(strings.ToLower(t.name), library.CasesSuffix):
		t.kind = ofRuleCases
	case strings.HasPrefix(t.name, "rules/"):
		t.kind = ofRules
	}
	return t
}
