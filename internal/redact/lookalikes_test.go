package redact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lookalike is a made-up key of a well-known kind, with what stands around it where
// it has no shape of its own. random is the longest random part of it.
type lookalike struct{ kind, text, random string }

// lookalikes are made anew from a seed, so that this file holds none and no pattern
// can be made for one key.
func lookalikes(seed uint64) (list []lookalike) {
	random := rand.New(rand.NewPCG(seed, 1))
	longest := ""
	m := func(alphabet string, n int) string {
		key := make([]byte, n)
		for i := range key {
			key[i] = alphabet[random.IntN(len(alphabet))]
		}
		if len(key) > len(longest) {
			longest = string(key)
		}
		return string(key)
	}
	const hexa, small, caps, up = "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	w := letters + digits
	u := func() string {
		return m(hexa, 8) + "-" + m(hexa, 4) + "-4" + m(hexa, 3) + "-a" + m(hexa, 3) + "-" + m(hexa, 12)
	}
	b64 := w + "+/"
	add := func(name, key string) {
		if longest == "" { // a fixed one
			longest = key[len(key)-12:]
		}
		list = append(list, lookalike{name, key, longest})
		longest = ""
	}
	add("aws access", "AKIA"+m(caps, 16))
	add("aws sts", "ASIA"+m(caps, 16))
	add("aws secret assigned", "aws_secret_access_key = "+m(b64, 40))
	add("aws secret json", `"SecretAccessKey": "`+m(b64, 40)+`"`)
	add("aws session", "aws_session_token="+m(b64, 300))
	add("github pat", "ghp_"+m(w, 36))
	add("github oauth", "gho_"+m(w, 36))
	add("github app", "ghs_"+m(w, 36))
	add("github refresh", "ghr_"+m(w, 36))
	add("github fine", "github_pat_"+m(w, 22)+"_"+m(w, 59))
	add("gitlab pat", "glpat-"+m(w+"-_", 20))
	add("gitlab deploy", "gldt-"+m(w, 20))
	add("gitlab runner", "glrt-"+m(w, 20))
	add("gitlab ptt", "glptt-"+m(hexa, 40))
	add("gitlab ci job", "glcbt-64_"+m(w, 20))
	add("slack bot", "xoxb-"+m(digits, 12)+"-"+m(digits, 13)+"-"+m(w, 24))
	add("slack user", "xoxp-"+m(digits, 12)+"-"+m(digits, 12)+"-"+m(digits, 12)+"-"+m(hexa, 32))
	add("slack app", "xapp-1-A"+m(up, 10)+"-"+m(digits, 13)+"-"+m(hexa, 64))
	add("slack hook", "https://hooks.slack.com/services/T"+m(up, 8)+"/B"+m(up, 10)+"/"+m(w, 24))
	add("slack config", "xoxe.xoxp-1-"+m(w, 166))
	add("google api", "AIza"+m(w+"-_", 35))
	add("google oauth secret", "GOCSPX-"+m(w+"-_", 28))
	add("google access", "ya29."+m(w+"-_", 150))
	add("google refresh", "1//0"+m(w+"-_", 60))
	add("stripe sk live", "sk_live_"+m(w, 24))
	add("stripe test", "sk_test_"+m(w, 99))
	add("stripe rk", "rk_live_"+m(w, 24))
	add("stripe whsec", "whsec_"+m(w, 32))
	add("stripe pk", "pk_live_"+m(w, 24))
	add("openai", "sk-"+m(w, 48))
	add("openai proj", "sk-proj-"+m(w+"-_", 74)+"T3BlbkFJ"+m(w+"-_", 74))
	add("openai svc", "sk-svcacct-"+m(w+"-_", 74)+"T3BlbkFJ"+m(w+"-_", 74))
	add("anthropic", "sk-ant-api03-"+m(w+"-_", 93)+"AA")
	add("openrouter", "sk-or-v1-"+m(hexa, 64))
	add("groq", "gsk_"+m(w, 52))
	add("xai", "xai-"+m(w, 80))
	add("perplexity", "pplx-"+m(w, 48))
	add("replicate", "r8_"+m(w, 37))
	add("fireworks", "fw_"+m(w, 24))
	add("hf", "hf_"+m(letters, 34))
	add("nvidia", "nvapi-"+m(w+"-_", 64))
	add("langsmith", "lsv2_pt_"+m(hexa, 32)+"_"+m(hexa, 10))
	add("tavily", "tvly-"+m(w, 32))
	add("voyage", "pa-"+m(w+"-_", 43))
	add("deepseek", "sk-"+m(hexa, 32))
	add("cerebras", "csk-"+m(small, 48))
	add("pinecone", "pcsk_"+m(w, 6)+"_"+m(w, 63))
	add("cohere", "COHERE_API_KEY="+m(w, 40))
	add("mistral", `MISTRAL_API_KEY: "`+m(w, 32)+`"`)
	add("npm", "npm_"+m(w, 36))
	add("pypi", "pypi-AgEIcHlwaS5vcmc"+m(w+"-_", 150))
	add("docker", "dckr_pat_"+m(w+"-_", 27))
	add("docker oat", "dckr_oat_"+m(w, 32))
	add("rubygems", "rubygems_"+m(hexa, 48))
	add("nuget", "oy2"+m(small, 43))
	add("crates", "cio"+m(w, 32))
	add("clojars", "CLOJARS_"+m(hexa, 60))
	add("artifactory", "AKCp"+m(w, 69))
	add("artifactory ref", "cmVmdGtu"+m(w, 56))
	add("twilio", "SK"+m(hexa, 32))
	add("twilio auth", "TWILIO_AUTH_TOKEN="+m(hexa, 32))
	add("sendgrid", "SG."+m(w+"-_", 22)+"."+m(w+"-_", 43))
	add("mailgun", "key-"+m(hexa, 32))
	add("mailchimp", m(hexa, 32)+"-us12")
	add("brevo", "xkeysib-"+m(hexa, 64)+"-"+m(w, 16))
	add("resend", "re_"+m(w, 8)+"_"+m(w, 24))
	add("postmark", "POSTMARK_SERVER_TOKEN="+u())
	add("square", "sq0atp-"+m(w+"-_", 22))
	add("square secret", "sq0csp-"+m(w+"-_", 43))
	add("square EAAA", "EAAA"+m(w+"-_", 60))
	add("shopify", "shpat_"+m(hexa, 32))
	add("shopify ss", "shpss_"+m(hexa, 32))
	add("paypal braintree", "access_token$production$"+m(small, 16)+"$"+m(hexa, 32))
	add("plaid", "access-sandbox-"+u())
	add("razorpay", "rzp_live_"+m(w, 14))
	add("flutterwave", "FLWSECK-"+m(hexa, 32)+"-X")

	add("easypost", "EZAK"+m(w, 54))
	add("shippo", "shippo_live_"+m(hexa, 40))
	add("do", "dop_v1_"+m(hexa, 64))
	add("heroku", "HRKU-AA"+m(w+"-_", 58))
	add("heroku assigned", "HEROKU_API_KEY="+u())
	add("netlify", "nfp_"+m(w, 36))
	add("vercel", "VERCEL_TOKEN="+m(w, 24))
	add("supabase", "sbp_"+m(hexa, 40))
	add("supabase secret", "sb_secret_"+m(w+"-_", 31))
	add("neon", "napi_"+m(small, 64))
	add("planetscale", "pscale_tkn_"+m(w, 43))
	add("planetscale pw", "pscale_pw_"+m(w, 43))
	add("fly", "FlyV1 fm2_"+m(b64, 200))
	add("render", "rnd_"+m(w, 32))
	add("cloudflare", "CLOUDFLARE_API_TOKEN="+m(w+"-_", 40))
	add("cloudflare origin", "v1.0-"+m(hexa, 24)+"-"+m(hexa, 146))
	add("linode", "LINODE_TOKEN: "+m(hexa, 64))
	add("scaleway", "SCW_SECRET_KEY="+u())
	add("fastly", "FASTLY_API_TOKEN="+m(w, 32))
	add("alibaba", "LTAI"+m(w, 20))
	add("tencent", "AKID"+m(w, 32))
	add("yandex", "y0_"+m(w+"-_", 55))
	add("yandex iam", "t1."+m(w, 100)+"."+m(w, 86))

	add("azure client secret", m(w, 3)+"8Q~"+m(w+"-_~.", 34))
	add("azure storage", "DefaultEndpointsProtocol=https;AccountName=foo;AccountKey="+m(b64, 86)+"==;EndpointSuffix=core.windows.net")
	add("azure sas", "https://x.blob.core.windows.net/c?sv=2022-11-02&sig="+m(w, 43)+"%3D")
	add("azure devops", m(w, 76)+"AZDO"+m(w, 4))
	add("azure sb", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey="+m(b64, 43)+"=")
	add("databricks", "dapi"+m(hexa, 32))
	add("snowflake", "SNOWFLAKE_PASSWORD="+m(w, 20))
	add("confluent", "CONFLUENT_SECRET="+m(w, 64))
	add("datadog", "DD_API_KEY="+m(hexa, 32))
	add("newrelic", "NRAK-"+m(up, 27))
	add("grafana", "glsa_"+m(w, 32)+"_"+m(hexa, 8))
	add("grafana cloud", "glc_eyJ"+m(w, 100))
	add("sentry org", "sntrys_eyJ"+m(w, 100)+"_"+m(w, 43))
	add("sentry user", "sntryu_"+m(hexa, 64))
	add("sentry dsn", "https://"+m(hexa, 32)+"@o123.ingest.sentry.io/456")
	add("honeycomb", "hcaik_01"+m(small, 60))
	add("posthog", "phx_"+m(w, 43))

	add("dynatrace", "dt0c01."+m(up, 24)+"."+m(up, 64))
	add("pagerduty", "PAGERDUTY_TOKEN=u+"+m(w, 18))
	add("launchdarkly", "sdk-"+u())
	add("algolia", "ALGOLIA_API_KEY="+m(hexa, 32))
	add("rollbar", "ROLLBAR_ACCESS_TOKEN="+m(hexa, 32))
	add("vault", "hvs."+m(w+"-_", 95))
	add("vault batch", "hvb."+m(w+"-_", 150))

	add("tf", m(w, 14)+".atlasv1."+m(w, 67))
	add("doppler", "dp.pt."+m(w, 43))
	add("doppler st", "dp.st.dev."+m(w, 43))
	add("pulumi", "pul-"+m(hexa, 40))
	add("infracost", "ico-"+m(w, 32))
	add("1p", "ops_eyJ"+m(w, 400))
	add("1p secret", "A3-"+m(up, 6)+"-"+m(up, 11)+"-"+m(up, 5)+"-"+m(up, 5)+"-"+m(up, 5))
	add("age", "AGE-SECRET-KEY-1"+m("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))
	add("tailscale", "tskey-auth-k"+m(w, 12)+"CNTRL-"+m(w, 32))

	add("postman", "PMAK-"+m(hexa, 24)+"-"+m(hexa, 34))
	add("linear", "lin_api_"+m(w, 40))
	add("notion", "ntn_"+m(digits, 11)+m(w, 35))
	add("notion old", "secret_"+m(w, 43))
	add("figma", "figd_"+m(w+"-_", 40))
	add("atlassian", "ATATT3xFfGF0"+m(w+"-_=", 180))
	add("bitbucket app", "ATBB"+m(w, 32))
	add("airtable", "pat"+m(w, 14)+"."+m(hexa, 64))

	add("dropbox", "sl."+m(w+"-_", 135))
	add("contentful", "CFPAT-"+m(w+"-_", 43))
	add("typeform", "tfp_"+m(w+"-_", 44)+"_"+m(w, 14))
	add("intercom", "INTERCOM_ACCESS_TOKEN=dG9rO"+m(w, 55))
	add("hubspot", "pat-na1-"+u())
	add("zendesk", "ZENDESK_API_TOKEN="+m(w, 40))
	add("clickup", "pk_"+m(digits, 8)+"_"+m(up, 32))
	add("monday", "eyJhbGciOiJIUzI1NiJ9."+m(w, 80)+"."+m(w, 43))
	add("mapbox", "sk.eyJ1Ijoi"+m(w, 60)+"."+m(w, 22))
	add("mapbox pk", "pk.eyJ1Ijoi"+m(w, 60)+"."+m(w, 22))
	add("adafruit", "aio_"+m(w, 28))
	add("duffel", "duffel_live_"+m(w, 43))
	add("readme", "rdme_"+m(small, 70))
	add("prefect", "pnu_"+m(small, 36))
	add("sourcegraph", "sgp_"+m(hexa, 16)+"_"+m(hexa, 40))
	add("buildkite", "bkua_"+m(hexa, 40))
	add("circleci", "CCIPAT_"+m(w, 22)+"_"+m(hexa, 40))
	add("snyk", "SNYK_TOKEN="+u())
	add("sonar", "squ_"+m(hexa, 40))
	add("sonar p", "sqp_"+m(hexa, 40))
	add("codecov", "CODECOV_TOKEN="+u())
	add("octopus", "API-"+m(up, 26))
	add("harness", "pat."+m(w, 22)+"."+m(hexa, 24)+"."+m(w, 20))
	add("frameio", "fio-u-"+m(w+"-_", 64))
	add("lob", "live_"+m(hexa, 35))

	add("discord bot", "MT"+m(w, 24)+"."+m(w, 6)+"."+m(w+"-_", 38))
	add("discord hook", "https://discord.com/api/webhooks/"+m(digits, 18)+"/"+m(w+"-_", 68))
	add("telegram", m(digits, 10)+":AA"+m(w+"-_", 33))
	add("facebook", "EAACEdEose0cBA"+m(w, 150))
	add("twitter bearer", "AAAAAAAAAAAAAAAAAAAAA"+m(w, 80))
	add("teams hook", "https://contoso.webhook.office.com/webhookb2/"+u()+"@"+u()+"/IncomingWebhook/"+m(hexa, 32)+"/"+u())
	add("matrix", "syt_"+m(w, 12)+"_"+m(w, 20)+"_"+m(w, 6))
	add("zapier", "https://hooks.zapier.com/hooks/catch/"+m(digits, 7)+"/"+m(small, 7)+"/")

	add("jwt", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIx"+m(w, 30)+"."+m(w+"-_", 43))
	add("pem", "-----BEGIN OPENSSH PRIVATE KEY-----\n"+m(b64, 64)+"\n"+m(b64, 64)+"\n-----END OPENSSH PRIVATE KEY-----")
	add("pg url", "postgres://app:"+m(w, 14)+"@db.example.com:5432/app")
	add("redis url", "redis://:"+m(w, 14)+"@cache:6379/0")
	add("mongo", "mongodb+srv://admin:"+m(w, 12)+"@cluster0.abcde.mongodb.net")
	add("bearer", "Authorization: Bearer "+m(w+"-_", 40))
	add("basic", "Authorization: Basic YWRtaW46aHVudGVyMjM0NQ==")
	add("x-api-key", "x-api-key: "+m(w, 32))
	add("cookie", "Cookie: session="+m(w, 40))
	add("netrc", "machine api.example.com login ada password "+m(w, 14)+"7")
	add("env pw", "DB_PASSWORD="+m(w, 14))
	add("yaml pw", "password: "+m(w, 14)+"7")
	add("json client secret", `"client_secret":"`+m(w, 32)+`"`)
	add("gcp sa key", `"private_key": "-----BEGIN PRIVATE KEY-----\n`+m(b64, 64)+`\n-----END PRIVATE KEY-----\n"`)
	add("url token", "https://api.example.com/v1?access_token="+m(w, 32))
	add("url api_key", "https://api.example.com/v1?api_key="+m(hexa, 32))
	add("git token url", "https://"+"x-access-token:"+m(w, 36)+"@github.com/a/b.git")
	add("docker auth", `{"auths":{"ghcr.io":{"auth":"`+"YWRhOmdocF9hYmNkZWZnaGlqa2xtbm9wcXJz"+`"}}}`)

	add("curl u", "curl -u ada:"+m(w, 14)+" https://x.example")

	add("PGPASSWORD", "PGPASSWORD="+m(w, 12)+" psql")
	add("putty", "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n"+m(b64, 48))
	add("coinbase", "COINBASE_API_SECRET="+m(b64, 86)+"==")
	add("binance", "BINANCE_SECRET_KEY="+m(w, 64))
	add("wg", "PrivateKey = "+m(b64, 43)+"=")

	add("firebase fcm", "AAAA"+m(w, 7)+":APA91b"+m(w+"-_", 134))
	add("workos", "sk_test_a2V5Xz"+m(w, 40))
	add("clerk", "sk_test_"+m(w, 40))
	add("private token hdr", "PRIVATE-TOKEN: "+m(w, 20))
	add("elastic", "Authorization: ApiKey "+m(w, 60)+"==")
	return list
}

// frames are what people and programs write around a key.
var frames = []string{"please use %s for the deploy", "%s", "x\n%s\ny", "(%s)", "`%s`", `{\"k\": \"%s\"}`, "<b>%s</b>", "key=%s&x=1", "%s, and", "use %s."}

func TestLookalikes(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine tries thousands of texts")
	}
	for seed := range uint64(2) {
		for _, key := range lookalikes(seed) {
			for _, frame := range frames {
				text := strings.Replace(frame, "%s", key.text, 1)
				for _, r := range []*Redactor{New(), New().Certain()} {
					require.NotContains(t, r.Text(text), key.random, "%s: %s", key.kind, text)
				}
			}
		}
	}
	require.Greater(t, len(lookalikes(0)), 150)
}
