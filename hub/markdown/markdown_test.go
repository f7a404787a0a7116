package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/hub/markdown"
)

// TestWhatATextMayNotDo: markup, addresses that run something, and pictures are not written,
// and each link says where it leads.
func TestWhatATextMayNotDo(t *testing.T) {
	for text, expected := range map[string]string{
		"# A\n\n**b** `c`":                           "<h1>A</h1>\n<p><strong>b</strong> <code>c</code></p>\n",
		"<script>alert(1)</script>\n\n<b onclick=x>": "<!-- raw HTML omitted -->\n<!-- raw HTML omitted -->\n",
		"a <img src=x onerror=y> b":                  "<p>a <!-- raw HTML omitted --> b</p>\n",
		"[x](javascript:alert(1))":                   `<p><a href="" rel="noreferrer">x (javascript:alert(1))</a></p>` + "\n",
		"[x](mailto:a@b.example)":                    `<p><a href="mailto:a@b.example" rel="noreferrer">x (mailto:a@b.example)</a></p>` + "\n",
		"[bank.example](https://evil.example/a?b)":   `<p><a href="https://evil.example/a?b" rel="noreferrer">bank.example (evil.example)</a></p>` + "\n",
		"![pic](https://evil.example/x.png)":         `<p><a href="https://evil.example/x.png" rel="noreferrer">pic (evil.example)</a></p>` + "\n",
		"[a](//evil.example)":                        `<p><a href="//evil.example" rel="noreferrer">a (evil.example)</a></p>` + "\n",
		"[a](#here) &lt;b&gt; <https://c.example>":   `<p><a href="#here" rel="noreferrer">a</a> &lt;b&gt; <a href="https://c.example" rel="noreferrer">https://c.example</a></p>` + "\n",
		"[a](https://x.example/%zz)":                 `<p><a href="https://x.example/%25zz" rel="noreferrer">a (an address that cannot be read)</a></p>` + "\n",
		"[a](https://b<i>.example)":                  `<p><a href="https://b%3Ci%3E.example" rel="noreferrer">a (b&lt;i&gt;.example)</a></p>` + "\n",
	} {
		require.Equal(t, expected, string(markdown.HTML(text)), text)
	}
	require.Empty(t, markdown.Formatted("two\nand\n\nthree lines & more"), "it is as it is read")
	require.NotEmpty(t, markdown.Formatted("two *lines*"))
	require.Contains(t, string(markdown.HTML("> one\n> two")), "one<br>\ntwo")
	require.Contains(t, string(markdown.HTML("| a |\n| - |\n| b |")), "<table>")
	require.Empty(t, markdown.HTML(strings.Repeat("a", 65<<10)))
	// 60 KB that would take gigabytes, and seconds
	require.Empty(t, markdown.HTML(strings.Repeat("|a", 300)+"|\n"+strings.Repeat("|-", 300)+"|\n"+strings.Repeat("|a|\n", 1000)))
	require.Empty(t, markdown.HTML(strings.Repeat("[a](", 3000)))
}
