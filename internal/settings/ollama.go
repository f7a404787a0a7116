package settings

import (
	"net"
	"strings"
)

// ollamaPort is where Ollama listens unless it is told otherwise.
const ollamaPort = "11434"

// ollamaAddress reads OLLAMA_HOST as Ollama itself does: HOST, HOST:PORT, :PORT
// or a URL. The address that stands for all of a machine's is this machine's own.
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
		return text // it has a user, which whoever uses the address refuses
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
