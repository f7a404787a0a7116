package settings

import "time"

// HTTP configures MCP over HTTP.
type HTTP struct {
	// Address is the HOST:PORT to listen at; empty: MCP is served on stdin and stdout.
	Address string
	// URL is the public address of the server, if a proxy serves clients.
	URL string
	// Tokens is the token file; empty: the one of the user's configuration.
	Tokens string
	// Issuer is an authorisation server whose tokens are accepted, and Audience the
	// audience that they must have; empty: URL.
	Issuer, Audience string
	// MaxBody is the maximum length of a message in bytes. PerMinute is the maximum
	// number of requests of a token in a minute; 0: no limit.
	MaxBody, PerMinute int
	// Drain is how long running requests may take after the program was asked to end.
	Drain time.Duration
}

// Names of variables for messages.
const (
	EnvHTTP       = "SAVANT_HTTP"
	EnvHTTPURL    = "SAVANT_HTTP_URL"
	EnvHTTPTokens = "SAVANT_HTTP_TOKENS"
	EnvHTTPIssuer = "SAVANT_HTTP_ISSUER"
)

const (
	maxHTTPBody  = 256 << 20
	maxPerMinute = 1_000_000
	maxDrain     = 3_600_000
)

func httpRows() []Setting {
	const why = "says who may reach this machine"
	return []Setting{
		{Flag: "http", Env: EnvHTTP, Key: "http.address", NotInFile: why,
			Doc: "HOST:PORT where savant mcp serves MCP over HTTP; empty: on stdin and stdout", field: func(s *Settings) any { return &s.HTTP.Address }},
		{Flag: "http-url", Env: EnvHTTPURL, Key: "http.url", NotInFile: why,
			Doc: "address of that server as clients know it, such as https://savant.example; by default the one it listens at", field: func(s *Settings) any { return &s.HTTP.URL }},
		{Flag: "http-tokens", Env: EnvHTTPTokens, Key: "http.tokens", NotInFile: why,
			Doc: "file of the tokens that are accepted; savant token writes it; by default savant/tokens.json in the user's configuration", field: func(s *Settings) any { return &s.HTTP.Tokens }},
		{Flag: "http-issuer", Env: EnvHTTPIssuer, Key: "http.issuer", NotInFile: why,
			Doc: "address of an OAuth authorisation server whose access tokens are accepted", field: func(s *Settings) any { return &s.HTTP.Issuer }},
		{Flag: "http-audience", Env: "SAVANT_HTTP_AUDIENCE", Key: "http.audience", NotInFile: why,
			Doc: "audience that its tokens must name; by default the server's address", field: func(s *Settings) any { return &s.HTTP.Audience }},
		{Flag: "http-max-body", Env: "SAVANT_HTTP_MAX_BODY", Key: "http.max_body", NotInFile: why, Kind: Number, Min: 1024, Max: maxHTTPBody, Default: "8388608",
			Doc: "largest message over HTTP, in bytes", field: func(s *Settings) any { return &s.HTTP.MaxBody }},
		{Flag: "http-per-minute", Env: "SAVANT_HTTP_PER_MINUTE", Key: "http.per_minute", NotInFile: why, Kind: Number, Max: maxPerMinute, Default: "6000",
			Doc: "requests per minute of a token that sets no limit itself; 0: no limit", field: func(s *Settings) any { return &s.HTTP.PerMinute }},
		{Flag: "http-drain-ms", Env: "SAVANT_HTTP_DRAIN_MS", Key: "http.drain_ms", NotInFile: why, Kind: Number, Min: 1, Max: maxDrain, Default: "1200",
			Doc: "milliseconds that open requests get to finish when the program stops", field: func(s *Settings) any { return &s.HTTP.Drain }},
	}
}
