package program

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy answers plain requests itself, and leads tunnels to one server.
type proxy struct {
	*httptest.Server
	target string

	mu   sync.Mutex
	seen []string // method, host and the authorization it was shown
}

func newProxy(t *testing.T, target string) *proxy {
	p := &proxy{target: target}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, strings.TrimSpace(r.Method+" "+r.Host+" "+r.Header.Get("Authorization")+r.Header.Get("Proxy-Authorization")))
	p.mu.Unlock()
	if r.Method != http.MethodConnect {
		decideAnything(w, r)
		return
	}
	there, err := net.Dial("tcp", p.target)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	go func() {
		_, _ = io.Copy(there, buffered)
		_ = there.Close()
	}()
	_, _ = io.Copy(here, there)
}

func decideAnything(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"action":"finish","final":"through the proxy"}`)
}

// decideThrough asks a Reasoning API once, in a process of its own: the proxies
// of the environment are read once.
func decideThrough(t *testing.T, environment ...string) (out string, err error) {
	command := exec.Command("savant", "reasoning", "decide")
	command.Env = append(os.Environ(), append(environment, "SAVANT_PATH="+t.TempDir(), "REASONING_API_TOKEN=the-token", "REASONING_API_RETRIES=0")...)
	command.Stdin = strings.NewReader(`{"run_id":"r1","step":1,"goal":"g"}`)
	printed, err := command.CombinedOutput()
	return string(printed), err
}

// The proxies of the environment are used as other programs use them: in the
// clear for http, as a tunnel, which sees no token, for https.
func TestTheReasoningAPIIsReachedThroughAProxy(t *testing.T) {
	t.Parallel()
	api := httptest.NewTLSServer(http.HandlerFunc(decideAnything))
	t.Cleanup(api.Close)
	authority := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}), 0o600))
	p := newProxy(t, api.Listener.Addr().String())
	withUser := strings.Replace(p.URL, "http://", "http://ada:lovelace@", 1)

	out, err := decideThrough(t, "REASONING_API_URL=http://api.example", "HTTP_PROXY="+withUser)
	require.NoError(t, err, out)
	require.Contains(t, out, "through the proxy")
	wanted := []string{"POST api.example Bearer the-tokenBasic YWRhOmxvdmVsYWNl"}
	if runtime.GOOS == "linux" { // where a file names who is trusted
		out, err = decideThrough(t, "REASONING_API_URL=https://example.com", "HTTPS_PROXY="+p.URL, "SSL_CERT_FILE="+authority)
		require.NoError(t, err, out)
		require.Contains(t, out, "through the proxy")
		wanted = append(wanted, "CONNECT example.com:443")
	}
	out, err = decideThrough(t, "REASONING_API_URL=http://api.invalid", "HTTP_PROXY="+p.URL, "NO_PROXY=.invalid")
	require.Error(t, err)
	require.Contains(t, out, "REASONING_UNAVAILABLE")
	require.Equal(t, wanted, p.seen, "none for a host that NO_PROXY names")
}

// The error about a proxy does not contain its password.
func TestAProxyThatIsGone(t *testing.T) {
	t.Parallel()
	p := newProxy(t, "")
	p.Close()
	out, err := decideThrough(t, "REASONING_API_URL=http://api.example", "HTTP_PROXY="+strings.Replace(p.URL, "http://", "http://ada:lovelace@", 1))
	require.Error(t, err)
	require.Contains(t, out, "REASONING_UNAVAILABLE: the Reasoning API at api.example did not decide: ")
	require.Contains(t, out, "proxyconnect")
	require.NotContains(t, out, "lovelace")
}
