// Package markdown shows a text of a model or a person as a page: without the markup of
// HTML, without pictures, and with the host of each link.
package markdown

import (
	"bytes"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"savant/internal/markup"
)

// maxText bounds a text that is shown so, in bytes.
const maxText = 64 << 10

// HTML returns a text as a page; "" if it is too long, or hostile to parsers. Raw HTML and addresses that run
// something are left out; the text itself has them.
func HTML(source string) template.HTML {
	var out bytes.Buffer
	if len(source) > maxText || !markup.IsBounded(source) || renderer().Convert([]byte(source), &out) != nil {
		return ""
	}
	return template.HTML(out.String()) //nolint:gosec // the library writes no HTML of the text
}

// Formatted is HTML for a text that formatting changes; else it is "".
func Formatted(source string) template.HTML {
	made := HTML(source)
	if strings.Count(string(made), "<") == 2*strings.Count(string(made), "<p>")+strings.Count(string(made), "<br>") {
		return ""
	}
	return made
}

// targetOf says where an address leads, "" if to the page itself.
func targetOf(address string) string {
	at, err := url.Parse(address)
	switch {
	case err != nil:
		return "an address that cannot be read"
	case at.Host == "" && at.Scheme != "":
		return address
	}
	return at.Host
}

func renderer() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithRendererOptions(html.WithHardWraps()), // a line of a model or a program is one
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(hosts{}, 1000))))
}

// hosts turns pictures into links, and writes the host of each link behind it, so that a
// reader sees where it leads.
type hosts struct{}

// Transform implements parser.ASTTransformer.
func (hosts) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	var pictures []*ast.Image
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if picture, is := node.(*ast.Image); is && entering {
			pictures = append(pictures, picture)
		}
		return ast.WalkContinue, nil
	})
	for _, picture := range pictures {
		link := ast.NewLink()
		link.Destination, link.Title = picture.Destination, picture.Title
		for child := picture.FirstChild(); child != nil; child = picture.FirstChild() {
			link.AppendChild(link, child)
		}
		picture.Parent().ReplaceChild(picture.Parent(), picture, link)
	}
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		switch link := node.(type) {
		case *ast.Link:
			if !entering {
				return ast.WalkContinue, nil
			}
			link.SetAttributeString("rel", []byte("noreferrer"))
			if target := targetOf(string(link.Destination)); target != "" {
				link.AppendChild(link, ast.NewString([]byte(" ("+target+")")))
			}
		case *ast.AutoLink:
			link.SetAttributeString("rel", []byte("noreferrer"))
		}
		return ast.WalkContinue, nil
	})
}
