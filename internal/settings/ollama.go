package settings

import (
	"net"
	"strings"
)

// ollamaPort is Ollama's default port.
const ollamaPort = "11434"

// ollamaAddress parses OLLAMA_HOST as Ollama does: HOST, HOST:PORT, :PORT or a URL. An
// address that means all interfaces becomes this machine's own. The path of
// its other interface is left out.
func ollamaAddress(text string) string {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	if text == "" {
		return ""
	}
	scheme, rest, hasScheme := strings.Cut(text, "://")
	if !hasScheme {
		scheme, rest = "http", text
	}
	at, path, hasPath := strings.Cut(rest, "/")
	hasPath = hasPath && strings.Trim(path, "/") != "v1" // that of another interface
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		host, port = strings.Trim(at, "[]"), ""
	}
	if port == "" && !hasScheme {
		port = ollamaPort
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	switch {
	case strings.Contains(at, "@"):
		return text // it has a user, so the client of the model refuses it
	case port != "":
		host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	if hasPath {
		host += "/" + path
	}
	return scheme + "://" + host
}
