package models_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
)

// Faults that pass are told from refusals that are final, wherever they stand.
func TestFaultsThatPass(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		passes bool
	}{
		"a code in a 200":        {200, `{"error":{"code":429,"message":"Provider returned error"}}`, true},
		"a code as text":         {200, `{"error":{"code":"502","message":"Network connection lost."}}`, true},
		"Cloudflare in a 200":    {200, `{"error":{"code":520,"message":"web server is returning an unknown error"}}`, true},
		"api_error":              {200, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, true},
		"overloaded":             {200, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, true},
		"a runner":               {200, `{"error":"an error was encountered while running the model: unexpected EOF"}`, true},
		"a runner that ended":    {500, `{"error":"llama runner process has terminated: signal: killed"}`, true},
		"loading":                {503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, true},
		"loading, with 400":      {400, `{"error":"Model is still loading, retry later"}`, true},
		"warming up, with 404":   {404, `{"detail":"the model is warming up"}`, true},
		"a model that crashed":   {400, `{"error":"The model has crashed without additional information. (Exit code: 137)"}`, true},
		"in a 200":               {200, `{"error":{"message":"Error: The model has crashed without additional information. (Exit code: 6)"}}`, true},
		"unloaded meanwhile":     {400, `{"error":"Model is unloaded."}`, true},
		"a model that is broken": {400, `{"error":"error loading model: bad magic"}`, false},
		"a conflict":             {409, `{"error":"the model is being loaded"}`, true},
		"too early":              {425, "", true},
		"within a choice":        {200, `{"choices":[{"index":0,"message":{"content":""},"error":{"code":502,"message":"Upstream error"},"finish_reason":"error"}]}`, true},
		"a final choice":         {200, `{"choices":[{"index":0,"message":{"content":""},"error":{"code":403,"message":"moderated"},"finish_reason":"error"}]}`, false},
		"an error object":        {200, `{"object":"error","message":"CUDA out of memory","type":"InternalServerError","code":500}`, true},
		"a list":                 {200, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, true},
		"a list of a refusal":    {429, `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`, true},
		"FastAPI":                {200, `{"detail":"Too many requests"}`, true},
		"a message":              {200, `{"message":"Too many requests","code":429}`, true},
		"nothing":                {200, ``, true},
		"a proxy's text":         {200, `upstream connect error or disconnect/reset before headers`, true},
		"calm":                   {420, ``, true},
		"a failed dependency":    {424, `{"error":"model is not ready"}`, true},
		"a code beyond statuses": {200, `{"object":"error","message":"too many requests","code":40303}`, true},
		"another name for it":    {200, `{"error":{"http_status":529,"message":"x"}}`, true},
		"closed by a proxy":      {499, "client closed request", true},
		"a size of 512":          {200, `{"error":{"message":"the prompt does not fit","n_ctx":512}}`, false},
		"no balance":             {402, `{"error":{"message":"Insufficient credits","code":402}}`, false},
		"no money, 429":          {429, `{"error":{"message":"You have run out of credits","type":"billing_error"}}`, false},
		"a final code in a 200":  {200, `{"error":{"code":401,"message":"no key","type":"api_error"}}`, false},
		"a final type in a 200":  {200, `{"error":{"type":"invalid_request_error","message":"internal name"}}`, false},
		"400 with api_error":     {400, `{"error":{"type":"api_error","message":"bad"}}`, false},
		"401 with api_error":     {401, `{"error":{"type":"api_error","message":"bad"}}`, false},
		"Bedrock":                {400, `{"__type":"ThrottlingException","message":"Too many requests, please wait before trying again."}`, true},
		"concurrency":            {200, `{"error":{"code":"1302","message":"High concurrency usage of this API"}}`, true},
		"a limit for answers":    {400, `{"error":{"message":"max_tokens is too large: 9000. This model supports at most 4096 completion tokens"}}`, false},
		"a rate of tokens":       {429, `{"error":{"message":"This request would exceed the rate limit of 40,000 input tokens per minute"}}`, true},
		"a deadline":             {504, `{"error":"llama runner: context deadline exceeded"}`, true},
		"an overload":            {503, `{"error":{"message":"The server is overloaded: 12 tokens are waiting"}}`, true},
		"a kind of tokens":       {401, `{"error":"This endpoint only accepts Bearer tokens"}`, false},
		"requests of a token":    {429, `{"error":{"message":"You have exceeded the number of requests for your token"}}`, true},
		"a bound of an argument": {400, `{"error":{"message":"thinking.budget_tokens: Input should be greater than or equal to 1024"}}`, false},
		"a name":                 {400, `{"error":{"message":"Invalid 'input[3].name': string too long. Expected a string with maximum length 64"}}`, false},
		"used up":                {429, `{"error":{"code":"1113","message":"Insufficient balance. Please recharge."}}`, false},
		"Moonshot's quota":       {429, `{"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended"}}`, false},
		"a quota":                {429, `{"error":{"code":"insufficient_quota","message":"used up"}}`, false},
		"a quota in a 200":       {200, `{"error":{"code":"insufficient_quota","message":"rate limit"}}`, false},
		"a certificate":          {526, "", false},
		"a handshake":            {525, "", false},
		"a model that is no one": {200, `{"error":"model 'm' not found"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stream := range []func(string){nil, func(string) {}} {
				asked := prompt
				asked.Stream = stream
				_, err := open(t, "openai:m", func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Connection", "close")
					w.WriteHeader(c.status)
					io.WriteString(w, c.body)
				}).Generate(t.Context(), asked)
				require.ErrorIs(t, err, fault.ReasoningUnavailable)
				var long *models.TooLong
				require.NotErrorAs(t, err, &long)
				var temporary *reasoning.Temporary
				if c.passes {
					require.ErrorAs(t, err, &temporary)
				} else {
					require.NotErrorAs(t, err, &temporary)
				}
			}
		})
	}
}

// The pause that a body asks for is the pause that is waited.
func TestAPauseInABody(t *testing.T) {
	require.Equal(t, 48*time.Hour, reasoning.AskedWait("Daily limit reached. Try again in 2 days.").Round(time.Hour))
	for _, status := range []int{200, 429} {
		_, err := open(t, "openai:m", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			w.WriteHeader(status)
			io.WriteString(w, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"7s"}]}}`)
		}).Generate(t.Context(), prompt)
		var temporary *reasoning.Temporary
		require.ErrorAs(t, err, &temporary)
		require.Equal(t, 7*time.Second, temporary.After)
	}
}
