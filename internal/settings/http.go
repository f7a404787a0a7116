package settings

// HTTP configures MCP over HTTP.
type HTTP struct {
	// Address is the HOST:PORT to listen at; empty: MCP is served on stdin and stdout.
	Address string
	// URL is the public address of the server and of the hub, if a proxy serves clients.
	URL string
	// Tokens is the token file; empty: the one of the user's configuration.
	Tokens string
	// Issuer is an authorisation server whose tokens are accepted if their audience is URL.
	Issuer string
}

// Names of variables for messages.
const (
	EnvHTTP       = "SAVANT_HTTP"
	EnvHTTPURL    = "SAVANT_HTTP_URL"
	EnvHTTPTokens = "SAVANT_HTTP_TOKENS"
	EnvHTTPIssuer = "SAVANT_HTTP_ISSUER"
)

func httpRows() []Setting {
	const why = "says who may reach this machine"
	return []Setting{
		{Flag: "http", Env: EnvHTTP, Key: "http.address", NotInFile: why,
			Doc: "HOST:PORT where savant mcp serves MCP over HTTP; empty: on stdin and stdout", field: func(s *Settings) any { return &s.HTTP.Address }},
		{Flag: "http-url", Env: EnvHTTPURL, Key: "http.url", NotInFile: why,
			Doc: "address of that server, or of the hub, as clients know it, such as https://savant.example; by default the one it listens at", field: func(s *Settings) any { return &s.HTTP.URL }},
		{Env: EnvHTTPTokens, Key: "http.tokens", NotInFile: why,
			Doc: "file of the tokens that are accepted; savant token writes it; by default savant/tokens.json in the user's configuration", field: func(s *Settings) any { return &s.HTTP.Tokens }},
		{Env: EnvHTTPIssuer, Key: "http.issuer", NotInFile: why,
			Doc: "address of an OAuth authorisation server whose access tokens are accepted", field: func(s *Settings) any { return &s.HTTP.Issuer }},
	}
}
