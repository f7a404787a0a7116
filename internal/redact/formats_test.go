package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documentedKeys are made-up keys of the forms that services document, newer ones than
// those of lookalikes among them, and secrets in the forms that tools write them in.
func documentedKeys(seed uint64) (list []lookalike) {
	random := rand.New(rand.NewPCG(seed, 77))
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
	u := w + "-_"
	b64 := w + "+/"
	uuid := func() string {
		return m(hexa, 8) + "-" + m(hexa, 4) + "-4" + m(hexa, 3) + "-a" + m(hexa, 3) + "-" + m(hexa, 12)
	}
	one := func(kind, before, key string) {
		list = append(list, lookalike{kind, before + key, longest})
		longest = ""
	}
	one("savant", "savant_", m(up, 52))
	one("savant hub", "http://127.0.0.1:4321/enter?key=", m(caps, 26))
	one("gcp gemini", "AQ.", "Ab8RN6"+m(u, 44))
	one("jina", "jina_", m(hexa, 32)+m(u, 28))
	one("modal id", "ak-", m(w, 22))
	one("modal secret", "as-", m(w, 22))
	one("ngrok", "ngrok config add-authtoken 2", m(w, 26)+"_"+m(w, 21))
	one("ngrok yaml", "authtoken: 1", m(w, 26)+"_"+m(w, 21))
	one("ngrok api", "NGROK_API_KEY=2", m(w, 26)+"_"+m(w, 21))
	one("sentry org b64", "sntrys_eyJpYXQiOjE3", m(w, 40)+"/"+m(w, 40)+"+"+m(w, 30)+"=_"+m(b64, 43))
	one("discord 17", base64.RawURLEncoding.EncodeToString([]byte("2"+m(digits, 16)))+".", "Y"+m(w, 5)+"."+m(u, 27))
	one("discord header", "Authorization: Bot "+base64.RawURLEncoding.EncodeToString([]byte("3"+m(digits, 18)))+".", "G"+m(w, 5)+"."+m(u, 38))
	one("asana env", "ASANA_TOKEN=2/12"+m(digits, 14)+"/"+m(digits, 16)+":", m(hexa, 32))
	one("gh fine", "github_pat_11"+m(up, 20)+"_", m(w, 59))
	one("gh ghs long", "ghs_", m(w, 36))
	one("gh ghu", "ghu_", m(w, 36))
	one("gh ghs jwt-like new", "ghs_", m(w, 50)+"_"+m(u, 200))
	one("gitlab pat", "glpat-", m(u, 20))
	one("gitlab pat routable", "glpat-", m(u, 27)+".01."+m(small, 9))
	one("gitlab pat routable2", "glpat-", m(u, 43)+".01"+m(small, 7))
	one("gitlab glsoat", "glsoat-", m(u, 20))
	one("gitlab gloas", "gloas-", m(hexa, 64))
	one("gitlab gldt", "gldt-", m(u, 20))
	one("gitlab glrt routable", "glrt-t1_", m(u, 27)+".01."+m(small, 9))
	one("gitlab glcbt", "glcbt-64_", m(u, 20))
	one("gitlab glft", "glft-", m(u, 20))
	one("gitlab glimt", "glimt-", m(small, 25))
	one("gitlab glagent", "glagent-", m(u, 50))
	one("gitlab glwt", "glwt-", m(u, 20))
	one("gitlab glffct", "glffct-", m(u, 20))
	one("slack xapp", "xapp-1-A0"+m(up, 9)+"-"+m(digits, 13)+"-", m(hexa, 64))
	one("slack xoxe", "xoxe-1-", m(w, 146))
	one("slack xoxe.xoxb", "xoxe.xoxb-1-", m(w, 163))
	one("slack xoxc", "xoxc-"+m(digits, 12)+"-"+m(digits, 12)+"-"+m(digits, 12)+"-", m(hexa, 64))
	one("slack xoxd", "xoxd-", m(w, 40)+"%2B"+m(w, 40))
	one("slack hook trigger", "https://hooks.slack.com/triggers/T"+m(up, 9)+"/"+m(digits, 13)+"/", m(hexa, 32))
	one("slack hook workflow", "https://hooks.slack.com/workflows/T"+m(up, 9)+"/A"+m(up, 9)+"/"+m(digits, 18)+"/", m(w, 24))
	one("stripe rk", "rk_live_51"+m(w, 14), m(w, 80))
	one("stripe rk_test", "rk_test_", m(w, 24))
	one("stripe whsec", "whsec_", m(w, 32))
	one("stripe whsec hex", "whsec_", m(hexa, 64))
	one("stripe client secret", "pi_3"+m(w, 23)+"_secret_", m(w, 25))
	one("npm", "npm_", m(w, 36))
	one("npmrc", "//npm.example.org/:_authToken=", m(hexa, 8)+"-"+uuid()[9:])
	one("npmrc _auth", "//nexus.example.com/repository/npm/:_auth=", m(b64, 32))
	one("pypi", "pypi-AgEIcHlwaS5vcmcC", m(u, 160))
	one("pypi test", "pypi-AgENdGVzdC5weXBpLm9yZwIk", m(u, 160))
	one("docker pat", "dckr_pat_", m(u, 27))
	one("hf", "hf_", m(letters, 34))
	one("hf org", "api_org_", m(letters, 34))
	one("anthropic", "sk-ant-api03-", m(u, 93)+"AA")
	one("anthropic admin", "sk-ant-admin01-", m(u, 93)+"AA")
	one("anthropic oat", "sk-ant-oat01-", m(u, 93)+"AA")
	one("anthropic sid", "sk-ant-sid01-", m(u, 86)+"-"+m(u, 8)+"AA")
	one("openai proj", "sk-proj-", m(u, 74)+"T3BlbkFJ"+m(u, 74))
	one("openai svcacct", "sk-svcacct-", m(u, 58)+"T3BlbkFJ"+m(u, 58))
	one("openai admin", "sk-admin-", m(u, 58)+"T3BlbkFJ"+m(u, 58))
	one("openai sess", "sess-", m(w, 40))
	sas := "sv=2023-11-03&ss=b&srt=sco&sp=rl&se=2030-01-01T00:00:00Z&st=2024-01-01T00:00:00Z&spr=https&sig="
	sig := func() string { return m(b64, 43) + "=" }
	one("azure sas", "https://acct.blob.core.windows.net/c/b?"+sas, url.QueryEscape(sig()))
	one("azure sas token", sas, url.QueryEscape(sig()))
	one("azure sas raw", "https://acct.blob.core.windows.net/c/b?"+sas, sig())
	one("azure sas signature", "sig=", url.QueryEscape(sig())+"&se=2030-01-01")
	one("azure storage", "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=", m(b64, 86)+"==")
	one("azure sb", "Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=", m(b64, 43)+"=")
	one("azure new ak storage", "AccountKey=", m(b64, 76)+"+AStt"+m(b64, 5)+"==")
	one("azure cosmos", "AccountEndpoint=https://a.documents.azure.com:443/;AccountKey=", m(b64, 76)+"ACDb"+m(b64, 6)+"==")
	one("azure ad secret", "", m(w, 3)+"8Q~"+m(w+"-_.~", 34))
	one("azure ai search", "api-key: ", m(w, 42)+"AzSe"+m(w, 6))
	one("azure openai", "AZURE_OPENAI_API_KEY=", m(w, 52)+"AAA"+m(w, 3)+"ACOG"+m(w, 4))
	one("azure func", "https://f.azurewebsites.net/api/x?code=", m(u, 44)+"AzFu"+m(u, 5)+"==")
	one("azure iot", "HostName=h.azure-devices.net;DeviceId=d;SharedAccessKey=", m(b64, 43)+"=")
	one("azure acr", "", m(b64, 42)+"+ACR"+m(w, 6))
	one("azure apim", "Ocp-Apim-Subscription-Key: ", m(hexa, 32))
	one("gcp api", "AIza", "Sy"+m(u, 33))
	one("gcp oauth", "GOCSPX-", m(u, 28))
	one("gcp refresh", "1//0", "g"+m(u, 95))
	one("gcp ya29", "ya29.", "a0A"+m(u, 200))
	one("gcp ya29.c", "ya29.c.", m(u, 300))
	one("gcp hmac", "GOOG1E", m(up, 55))
	one("aws id", "AKIA", m(caps, 16))
	one("aws asia", "ASIA", m(caps, 16))
	one("aws secret", "AWS_SECRET_ACCESS_KEY=", m(b64, 40))
	one("aws secret 2", "aws_secret_access_key=", m(b64, 40))
	one("aws secret camel", `"SecretAccessKey": "`, m(b64, 40))
	one("aws session", "AWS_SESSION_TOKEN=", "IQoJb3JpZ2luX2VjE"+m(b64, 400)+"==")
	one("aws session bare", "", "IQoJb3JpZ2luX2VjE"+m(b64, 400)+"==")
	one("aws session FwoG", "", "FwoGZXIvYXdzE"+m(b64, 400)+"==")
	one("aws signed", "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=ASIA"+m(caps, 16)+"%2F20240101%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Signature=", m(hexa, 64))
	one("gcs signed", "https://storage.googleapis.com/b/o?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature=", m(hexa, 512))
	one("cloudfront signed", "https://d1.cloudfront.net/x?Expires=1767225600&Signature=", m(u+"~", 342)+"__&Key-Pair-Id=K"+m(up, 13))
	one("aws mws", "amzn.mws.", uuid())
	one("bedrock", "ABSKQmVkcm9ja0FQSUtleS", m(b64, 110))
	one("twilio SK", "SK", m(hexa, 32))
	one("twilio auth yaml", "twilio_auth_token: ", m(hexa, 32))
	one("sendgrid", "SG.", m(u, 22)+"."+m(u, 43))
	one("mailgun key", "key-", m(hexa, 32))
	one("telegram", "bot"+m(digits, 10)+":", "AA"+m(u, 33))
	one("telegram url", "https://api.telegram.org/bot"+m(digits, 10)+":", "AA"+m(u, 33)+"/getMe")
	one("discord bot", base64.RawURLEncoding.EncodeToString([]byte("9"+m(digits, 17)))+".", "G"+m(w, 5)+"."+m(u, 38))
	one("discord bot 1", base64.RawURLEncoding.EncodeToString([]byte("1"+m(digits, 18)))+".", "G"+m(w, 5)+"."+m(u, 38))
	one("discord mfa", "mfa.", m(u, 84))
	one("databricks", "dapi", m(hexa, 32))
	one("databricks -2", "dapi", m(hexa, 32)+"-2")
	one("databricks secret", "dose", m(hexa, 32))
	one("do pat", "dop_v1_", m(hexa, 64))
	one("do oauth", "doo_v1_", m(hexa, 64))
	one("do spaces", "DO00", m(up, 16))
	one("heroku", "HRKU-AA", m(u, 58))
	one("heroku uuid", "HRKU-", uuid())
	one("linear", "lin_api_", m(w, 40))
	one("linear oauth", "lin_oauth_", m(hexa, 64))
	one("linear wh", "lin_wh_", m(w, 40))
	one("notion", "ntn_", m(digits, 11)+m(w, 35))
	one("vault hvs", "hvs.", "CAESI"+m(u, 90))
	one("vault hvs short", "hvs.", m(w, 24))
	one("vault hvb", "hvb.", "AAAAAQ"+m(u, 150))
	one("vault hvr", "hvr.", "CAES"+m(u, 90))
	one("vault s.", "VAULT_TOKEN=s.", m(w, 24))
	one("consul", "CONSUL_HTTP_TOKEN=", uuid())
	one("nomad", "NOMAD_TOKEN=", uuid())
	one("terraform", "", m(w, 14)+".atlasv1."+m(u, 67))
	one("putty", "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n", m(b64, 48))
	one("age", "AGE-SECRET-KEY-1", m("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))
	one("age pq", "AGE-SECRET-KEY-PQ-1", m("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))
	one("pgp", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdG", m(b64, 60)+"\n"+m(b64, 64)+"\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----")
	one("ssh2", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"rsa\"\n", m(b64, 64)+"\n"+m(b64, 64)+"\n---- END SSH2 ENCRYPTED PRIVATE KEY ----")
	one("jwt", "eyJhbGciOiJSUzI1NiJ9.", "eyJzdWIiOiIx"+m(w, 60)+"."+m(u, 342))
	one("jwe", "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.", m(u, 342)+"."+m(u, 16)+"."+m(u, 60)+"."+m(u, 22))
	one("basic url", "https://ada:", m(w, 16)+"@git.example.com/a.git")
	one("url token user", "https://", m(w, 40)+"@github.com/a/b.git")
	one("pg dsn", "host=db user=app password=", m(w, 12)+" dbname=x sslmode=disable")
	one("go mysql dsn", "app:", m(w, 14)+"@tcp(db:3306)/x?parseTime=true")
	one("mssql", "Server=tcp:db,1433;Database=x;User ID=sa;Password=", m(w, 14)+";Encrypt=true")
	one("mssql pwd", "Data Source=db;Initial Catalog=x;Uid=sa;Pwd=", m(w, 14)+";")
	one("jdbc", "jdbc:postgresql://db/x?user=app&password=", m(w, 14))
	one("jdbc oracle", "jdbc:oracle:thin:app/", m(w, 14)+"@db:1521/x")
	one("amqp", "amqps://app:", m(w, 18)+"@mq:5671/v")
	one("mongo", "mongodb+srv://app:", m(w, 18)+"@c.abcde.mongodb.net/?w=majority")
	one("netrc", "machine api.example.com\n  login ada\n  password ", m(w, 14))
	one("netrc 1", "machine api.example.com login ada password ", m(letters, 14))
	one("netrc default", "default login ada password ", m(w, 14))
	one("pgpass", "db.example.com:5432:app:ada:", m(w, 14))
	one("pgpass *", "*:*:*:ada:", m(w, 14))
	one("kubeconfig token", "users:\n- name: a\n  user:\n    token: ", m(w, 40))
	one("kubeconfig key data", "    client-key-data: ", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ"+m(b64, 400)+"==")
	one("docker auth", `{"auths": {"https://index.docker.io/v1/": {"auth": "`, m(b64, 32))
	one("docker identitytoken", `"identitytoken": "`, m(w, 60))
	one("htpasswd apr1", "ada:$apr1$", m(w, 8)+"$"+m(w+"./", 22))
	one("htpasswd sha", "ada:{SHA}", m(b64, 27)+"=")
	one("htpasswd ssha", "ada:{SSHA}", m(b64, 38)+"==")
	one("htpasswd bcrypt", "ada:$2y$05$", m(w+"./", 53))
	one("shadow 6", "root:$6$", m(w, 16)+"$"+m(w+"./", 86)+":19000:0:99999:7:::")
	one("shadow 1", "root:$1$", m(w, 8)+"$"+m(w+"./", 22)+":19000:0:99999:7:::")
	one("shadow y", "root:$y$j9T$", m(w+"./", 22)+"$"+m(w+"./", 43)+":19000::::::")
	one("django", "pbkdf2_sha256$600000$", m(w, 22)+"$"+m(b64, 43)+"=")
	one("scram", "SCRAM-SHA-256$4096:", m(b64, 22)+"==$"+m(b64, 43)+"=:"+m(b64, 43)+"=")
	one("asana", "0/", m(hexa, 32))
	one("asana2", "1/12"+m(digits, 14)+":", m(hexa, 32))
	one("asana3", "2/12"+m(digits, 14)+"/"+m(digits, 16)+":", m(hexa, 32))
	one("dropbox", "sl.", m(u, 135))
	one("dropbox u", "sl.u.", "AF"+m(u, 180))
	one("figma", "figd_", m(u, 40))
	one("airtable", "pat"+m(w, 14)+".", m(hexa, 64))
	one("shopify", "shpat_", m(hexa, 32))
	one("newrelic", "NRAK-", m(up, 27))
	one("newrelic license", "NEW_RELIC_LICENSE_KEY=", m(hexa, 36)+"NRAL")
	one("newrelic lic bare", "", m(hexa, 36)+"FFFFNRAL")
	one("datadog", "DD_API_KEY=", m(hexa, 32))
	one("datadog pat", "ddpat_", m(w, 40))
	one("sentry dsn", "https://", m(hexa, 32)+"@o1234.ingest.sentry.io/5678")
	one("sentry org", "sntrys_eyJpYXQiOjE3", m(w, 120)+"_"+m(w, 43))
	one("grafana glsa", "glsa_", m(w, 32)+"_"+m(hexa, 8))
	one("grafana glc", "glc_eyJ", m(w, 100)+"==")
	one("honeycomb", "hcaik_01", m(small, 56))
	one("tailscale", "tskey-auth-k"+m(w, 11)+"CNTRL-", m(w, 32))
	one("cloudflare", "CF_API_TOKEN=", m(u, 40))
	one("cloudflare new", "cfat_", m(w, 48))
	one("cloudflared", "TUNNEL_TOKEN=", "eyJhIjoi"+m(w, 120))
	one("supabase", "sbp_", m(hexa, 40))
	one("supabase secret", "sb_secret_", m(u, 31))
	one("vercel", "vcp_", m(w, 56))
	one("netlify", "nfp_", m(w, 36))
	one("flyio", "fm2_lJPE", m(b64, 400))
	one("render", "rnd_", m(w, 28))
	one("railway", "RAILWAY_TOKEN=", uuid())
	one("doppler", "dp.st.prd.", m(w, 40))
	one("infisical", "st."+m(hexa, 24)+"."+m(hexa, 32)+".", m(hexa, 32))
	one("1password", "ops_eyJ", m(w, 300))
	one("1password key", "A3-"+m(up, 6)+"-", m(up, 6)+"-"+m(up, 5)+"-"+m(up, 5)+"-"+m(up, 5)+"-"+m(up, 5))
	one("bitwarden", "0."+uuid()+".", m(w, 30)+":"+m(b64, 22)+"==")
	one("atlassian", "ATATT3xFfGF0", m(u, 170)+"="+m(up, 8))
	one("atlassian ATCTT", "ATCTT3xFfGN0", m(u, 170)+"="+m(up, 8))
	one("bitbucket BBDC", "BBDC-", m(b64, 44))
	one("jenkins", "JENKINS_API_TOKEN=11", m(hexa, 32))
	one("circleci", "CCIPAT_", m(w, 22)+"_"+m(hexa, 40))
	one("buildkite", "bkua_", m(hexa, 40))
	one("sonar", "sqp_", m(hexa, 40))
	one("snyk", "snyk_uat.", m(hexa, 8)+"."+m(u, 80))
	one("jfrog ref", "cmVmdGtuOjAxOj", m(w, 50))
	one("jfrog akc", "AKCp8", m(w, 68))
	one("confluent", "cflt", m(b64, 60))
	one("mongodb atlas", "mdb_sa_sk_", m(u, 40))
	one("planetscale", "pscale_pw_", m(u, 43))
	one("neon", "npg_", m(w, 12))
	one("upstash", "UPSTASH_REDIS_REST_TOKEN=", "AX"+m(w, 50)+"==")
	one("clickhouse", "4b1d", m(w, 38))
	one("elastic", "ELASTIC_API_KEY=", m(b64, 58)+"==")
	one("algolia", "ALGOLIA_ADMIN_KEY=", m(hexa, 32))
	one("mapbox sk", "sk.eyJ1Ijoi", m(w, 70)+"."+m(u, 22))
	one("square", "EAAA", "l"+m(u, 60))
	one("paypal", "access_token$production$"+m(small, 16)+"$", m(hexa, 32))
	one("shippo", "shippo_live_", m(hexa, 40))
	one("postman", "PMAK-", m(hexa, 24)+"-"+m(hexa, 34))
	one("contentful", "CFPAT-", m(u, 43))
	one("sanity", "SANITY_TOKEN=sk", m(w, 178))
	one("zoom", "ZOOM_CLIENT_SECRET=", m(w, 32))
	one("okta", "SSWS 00", m(u, 40))
	one("okta hdr", "Authorization: SSWS 00", m(u, 40))
	one("auth0", "AUTH0_CLIENT_SECRET=", m(u, 64))
	one("clerk", "sk_live_", m(w, 42))
	one("workos", "sk_live_", m(w, 60))
	one("facebook", "EAAG", m(w, 150))
	one("fb app", "EAAC", m(w, 170)+"ZD")
	one("instagram", "IGQVJ", m(w, 150))
	one("twitter", "AAAAAAAAAAAAAAAAAAAAA", m(w, 40)+"%3D"+m(w, 50))
	one("twitch", "oauth:", m(small, 30))
	one("line", "LINE_CHANNEL_SECRET=", m(hexa, 32))
	one("groq", "gsk_", m(w, 52))
	one("replicate", "r8_", m(w, 37))
	one("openrouter", "sk-or-v1-", m(hexa, 64))
	one("langfuse", "sk-lf-", uuid())
	one("together", "tgp_v1_", m(u, 43))
	one("elevenlabs", "sk_", m(hexa, 48))
	one("deepgram", "DEEPGRAM_API_KEY=", m(hexa, 40))
	one("wandb", "WANDB_API_KEY=", m(hexa, 40))
	one("cursor", "key_", m(hexa, 64))
	one("e2b", "e2b_", m(hexa, 40))
	one("exa", "EXA_API_KEY=", uuid())
	one("firecrawl", "fc-", m(hexa, 32))
	one("opsgenie", "GenieKey ", uuid())
	one("launchdarkly", "sdk-", uuid())
	one("segment", "sgp_", m(w, 64))
	one("statsig", "secret-", m(w, 43))
	one("hubspot", "pat-na1-", uuid())
	one("mailchimp", "", m(hexa, 32)+"-us21")
	one("brevo", "xkeysib-", m(hexa, 64)+"-"+m(w, 16))
	one("brevo smtp", "xsmtpsib-", m(hexa, 64)+"-"+m(w, 16))
	one("resend", "re_", m(w, 8)+"_"+m(w, 24))
	one("pulumi", "pul-", m(hexa, 40))
	one("hcp", "HCP_CLIENT_SECRET=", m(u, 64))
	one("crates", "cio", m(w, 32))
	one("nuget", "oy2", m(small, 43))
	one("hex.pm", "HEX_API_KEY=", m(hexa, 32))
	one("cargo", "CARGO_REGISTRY_TOKEN=", m(w, 35))
	one("maven", "<password>", m(w, 20)+"</password>")
	one("wireguard", "PrivateKey = ", m(b64, 43)+"=")
	one("wireguard psk", "PresharedKey = ", m(b64, 43)+"=")
	one("rails master", "RAILS_MASTER_KEY=", m(hexa, 32))
	one("django", "SECRET_KEY = 'django-insecure-", m(small+"!@#$%^&*(-_=+)", 50)+"'")
	one("laravel", "APP_KEY=base64:", m(b64, 43)+"=")
	one("terraform tfvars", "db_password = \"", m(w, 16)+"\"")
	one("env pass", "SMTP_PASS=", m(w, 14))
	one("env pwd", "MYSQL_PWD=", m(w, 14))
	one("k8s env", "- name: DB_PASSWORD\n  value: ", m(w, 14)+"7")
	one("ecs env", `{"name":"API_TOKEN","value":"`, m(w, 24)+`"}`)
	one("webconfig", `<add key="ApiToken" value="`, m(w, 24)+`" />`)
	one("curl -u", "curl -u 'ada:", m(w, 16)+"' https://api.example.com")
	one("curl bearer", "curl -H 'Authorization: Bearer ", m(w, 36)+"' https://x")
	one("sshpass", "sshpass -p '", m(w, 12)+"' ssh a@b")
	one("docker login", "docker login -u ada -p ", m(w, 20)+" ghcr.io")
	one("psql", "psql postgresql://ada:", m(w, 16)+"@db/x")
	one("redis-cli", "redis-cli -h c -a ", m(w, 20))
	one("--password", "tool --password ", m(w, 16))
	one("--token=", "tool --token=", m(w, 30))
	one("--token ", "tool --token ", m(w, 30))
	one("--api-key ", "tool --api-key ", m(w, 30))
	one("ssh pem in JSON", "\"-----BEGIN OPENSSH PRIVATE KEY-----\\n", m(b64, 70)+"\\n"+m(b64, 70)+"\\n-----END OPENSSH PRIVATE KEY-----\\n\"")
	jwk := `{"kty":"EC","crv":"P-256","x":"` + m(u, 42) + `","y":"` + m(u, 42) + `","d":"`
	one("jwk", jwk, m(u, 43)+`"}`)
	one("aws bedrock short", "bedrock-api-key-", m(w, 132))
	one("wandb v1", "wandb_v1_", m(w, 77))
	one("intercom", "dG9rO", m(w, 55))
	one("yandex", "AQVN", m(u, 35))
	one("trello token", "ATTA", m(hexa, 72))
	one("browserbase", "bb_live_", m(u, 27))
	one("stytch", "secret-live-", m(u, 36))
	one("axiom", "xaat-", uuid())
	one("trigger", "tr_prod_", m(w, 20))
	one("polar", "polar_oat_", m(w, 43))
	one("helicone", "sk-helicone-"+m(small, 7)+"-"+m(small, 7)+"-"+m(small, 7)+"-", m(small, 12))
	one("inngest", "signkey-prod-", m(hexa, 64))
	one("paddle", "pdl_live_apikey_01"+m(small, 24)+"_", m(w, 22)+"_"+m(w, 3))
	one("buildkite cluster", "bkct_", m(w, 40))
	one("aws configure", "aws configure set aws_secret_access_key ", m(b64, 40))

	one("vercel gateway", "vck_", m(w, 56))
	one("apify", "apify_api_", m(w, 36))
	one("elastic cloud", "essu_", m(w, 60))
	one("kong konnect", "kpat_", m(w, 50))
	one("kong konnect system", "spat_", m(w, 50))
	one("runpod", "rpa_", m(up, 40)+m(small, 6))
	one("xata", "xau_", m(w, 32))
	return list
}

// carriers are what a key stands in.
func carriers() map[string]func(string) string {
	inJSON := func(text string) string {
		raw, err := json.Marshal(text)
		if err != nil {
			return ""
		}
		return string(raw)
	}
	indent := func(before, text string) string { return before + strings.ReplaceAll(text, "\n", "\n"+before) }
	return map[string]func(string) string{
		"JSON":         func(s string) string { return `{"note": ` + inJSON(s) + `}` },
		"JSON in JSON": func(s string) string { return inJSON(`{"note":` + inJSON(s) + `}`) },
		"YAML":         func(s string) string { return "a:\n  note: |\n" + indent("    ", s) + "\n  b: 1\n" },
		"YAML value":   func(s string) string { return "note: " + s + "\n" },
		"environment":  func(s string) string { return "NOTE=" + s + "\n" },
		"shell":        func(s string) string { return "$ export NOTE=\"" + s + "\" && echo ok" },
		"address": func(s string) string {
			return "https://x.example/cb?state=1&note=" + strings.ReplaceAll(url.QueryEscape(s), "+", "%20") + "&z=2"
		},
		"log":  func(s string) string { return "2026-01-02T03:04:05Z INFO app: using " + s + " for upload id=7" },
		"diff": func(s string) string { return "@@ -1 +1 @@\n-old\n" + indent("+", s) + "\n context\n" },
		"diff in JSON": func(s string) string {
			return "output: " + inJSON("@@ -1 +1 @@\n-old\n"+indent("+", s)+"\n context\n") + ", exit code 0"
		},
		"JSON in a diff": func(s string) string { return "@@ -1 +1 @@\n-[]\n+[" + inJSON(s) + "]\n" },
		"CSV": func(s string) string {
			if strings.ContainsAny(s, "\",\n") {
				s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
			}
			return "id,note,when\n7," + s + ",2026-01-02\n"
		},
		"code":     func(s string) string { return "client := New(\n\t\"" + strings.ReplaceAll(s, "\n", "\\n") + "\",\n)" },
		"markdown": func(s string) string { return "| a | `" + s + "` |" },
		"prose":    func(s string) string { return "My credentials are " + s + ", please use them." },
		"XML":      func(s string) string { return "<note>" + s + "</note>" },
		"base64": func(s string) string {
			return "  note: " + base64.StdEncoding.EncodeToString([]byte("export NOTE="+s+"\n"))
		},
		"base64 in lines": func(s string) string {
			return wrapped(base64.StdEncoding.EncodeToString([]byte("export A=b\nNOTE=" + s + "\n")))
		},
		"base64 in an address": func(s string) string {
			return "GET https://x.example/cb/" + base64.RawURLEncoding.EncodeToString([]byte("NOTE="+s)) + "/log?z=2"
		},
		"base64 behind a name": func(s string) string { return "blob_note-" + base64.StdEncoding.EncodeToString([]byte("NOTE="+s)) },
		"base64 in a log of JSON": func(s string) string {
			return `args={"text":"first\n` + base64.StdEncoding.EncodeToString([]byte("NOTE="+s)) + `\nlast"} took 3ms`
		},
		"hexadecimal":           func(s string) string { return "body " + hex.EncodeToString([]byte("NOTE="+s)) + " was sent" },
		"hexadecimal in a path": func(s string) string { return "GET /a/" + hex.EncodeToString([]byte("NOTE="+s)) + "/more-of-it" },
		"hexadecimal in a list": func(s string) string {
			listed := hex.EncodeToString([]byte(s))
			return "46\n" + listed + "\n47\n" + listed + "\nabcdef01\n"
		},
		"base64 in a list": func(s string) string {
			return base64.StdEncoding.EncodeToString([]byte("1 "+s)) + "\n47\n" + base64.StdEncoding.EncodeToString([]byte(s)) + "\nmore\n"
		},
		"hexadecimal in SQL": func(s string) string {
			return "INSERT INTO t VALUES (0x" + strings.ToUpper(hex.EncodeToString([]byte("NOTE="+s))) + ");"
		},
		"escapes of code": func(s string) string {
			return "b'" + escapedBytes("NOTE="+s) + "'"
		},
		"markup": func(s string) string {
			return `<div data-note="{&quot;note&quot;: &quot;` + html.EscapeString(s) + `&quot;}">`
		},
		"alone": func(s string) string { return s },
	}
}

func escapedBytes(text string) (escaped string) {
	for i := range len(text) {
		escaped += fmt.Sprintf(`\x%02x`, text[i])
	}
	return escaped
}

// wrapped is a text in lines of 76, as base64(1) writes it.
func wrapped(text string) string {
	var lines []string
	for len(text) > 76 {
		lines, text = append(lines, text[:76]), text[76:]
	}
	return strings.Join(append(lines, text), "\n")
}

func TestDocumentedKeysInEveryCarrier(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine tries thousands of texts")
	}
	keys, shown := documentedKeys(0), []string{}
	require.Greater(t, len(keys), 250)
	whole := regexp.MustCompile("base64|hexadecimal|escapes")
	for carrier, carry := range carriers() {
		for _, key := range keys {
			text := carry(key.text)
			for _, r := range []*Redactor{New(), New().Certain()} {
				left := r.Text(text)
				if json.Valid([]byte(text)) {
					left = string(r.JSON(json.RawMessage(text)))
				}
				if whole.MatchString(carrier) && !strings.Contains(left, Mark) || shows(left, key.random) || shows(left, url.QueryEscape(key.random)) {
					shown = append(shown, key.kind+" in "+carrier+": "+left)
				}
			}
		}
	}
	require.Empty(t, shown)
}

// shows reports whether a text has twelve letters of a key in a row.
func shows(text, key string) bool {
	for from := 0; from+12 <= len(key); from++ {
		if strings.Contains(text, key[from:from+12]) {
			return true
		}
	}
	return false
}

// In JSON, the name of a secret and its value may be two members, and what is secret
// may be known by the name of its member alone.
func TestMembersOfJSON(t *testing.T) {
	key := made(letters+digits, 43)
	for _, text := range []string{
		`{"environment":[{"name":"API_TOKEN","value":"` + key + `"}]}`,
		`{"value":"` + key + `","name":"db_password"}`,
		`{"kty":"EC","crv":"P-256","d":"` + key + `"}`,
		`{"auths":{"ghcr.io":{"auth":"` + key + `="}}}`,
		`{"user":{"client-key-data":"` + key + `"}}`,
	} {
		for _, r := range []*Redactor{New(), New().Certain()} {
			clean := string(r.JSON(json.RawMessage(text)))
			require.False(t, shows(clean, key), clean)
			require.Contains(t, clean, Mark)
		}
	}
	for _, text := range []string{`{"name":"color","value":"` + key + `"}`, `{"d":"M10 10 L20 20","k":"one"}`, `{"auth":"none","name":"token"}`} {
		require.Equal(t, text, string(New().JSON(json.RawMessage(text))))
	}
}

// What makes a word a secret may stand in the words before it.
func TestASecretInAStreamIsKnownByTheWordsBeforeIt(t *testing.T) {
	key := made(letters+digits, 24)
	for text, wanted := range map[string]string{
		"so password: " + key + " it is":                    "so password: " + Mark + " it is",
		"Authorization: Bearer " + key + "\nnext":           "Authorization: " + Mark + Mark + "\nnext",
		"{\"api_key\" : \"" + key + "\"} and so on":         "{\"api_key\" : \"" + Mark + "\"} and so on",
		"password: " + key + "\nno more of it, no secrets":  "password: " + Mark + "\nno more of it, no secrets",
		"a token and a password are words, as in: see here": "a token and a password are words, as in: see here",
	} {
		var passed strings.Builder
		stream := NewStream(New(), func(text string) { passed.WriteString(text) })
		for at := range text {
			stream.Add(text[at : at+1])
		}
		stream.Flush()
		require.Equal(t, wanted, passed.String())
	}
}

func TestAKnownValueOfManyWordsInAStream(t *testing.T) {
	const value = "correct horse battery staple\nand a second line"
	for text, wanted := range map[string]string{
		"it is " + value + ", so":                        "it is " + Mark + ", so",
		"x" + value + value:                              "x" + Mark,
		"correct horse battery charger, " + value:        "correct horse battery charger, " + Mark,
		"it is correct horse battery":                    "it is correct horse battery",
		strings.Repeat("y", 2*maxHeldBack) + " " + value: strings.Repeat("y", 2*maxHeldBack) + " " + Mark,
	} {
		for size := 1; size < 40; size += 6 {
			var passed strings.Builder
			stream := NewStream(New(value), func(text string) { passed.WriteString(text) })
			for part := range slices.Chunk([]byte(text), size) {
				stream.Add(string(part))
			}
			stream.Flush()
			require.Equal(t, wanted, passed.String(), "in parts of %d bytes", size)
		}
	}
}

// A private key comes in many words, of which none is one by itself.
func TestAPrivateKeyInAStream(t *testing.T) {
	random := made(letters+digits, 64)
	for _, end := range []string{"\n-----END PRIVATE KEY-----\nthat was it", ""} {
		var passed strings.Builder
		stream := NewStream(New(), func(text string) { passed.WriteString(text) })
		for part := range strings.SplitAfterSeq("The key:\n-----BEGIN PRIVATE KEY-----\n"+random+"\n"+random+end, " ") {
			for line := range strings.SplitAfterSeq(part, "\n") {
				stream.Add(line)
			}
		}
		stream.Flush()
		require.NotContains(t, passed.String(), random[:12])
		require.Equal(t, "The key:\n"+Mark+strings.TrimPrefix(end, "\n-----END PRIVATE KEY-----"), passed.String())
	}
}

// What only shows where a secret goes, and what is public, stays.
func TestFormsWithoutASecret(t *testing.T) {
	r := New().Certain()
	for _, text := range []string{
		"## key: |-\n##   -----BEGIN RSA PRIVATE KEY-----\n##   ...\n##   -----END RSA PRIVATE KEY-----\n",
		"## start with -----BEGIN RSA PRIVATE KEY-----\n##\n## name should line up with a tlsSecret set further up\n",
		"const PUBLIC_KEY = 'MCowBQYDK2VwAyEAY0OZFFE5kSuqYK6/UprTL5RmvQ+8dpPTGMCw1MiO/Gs='",
		`"tough-cookie": "npm:^4.1.4"`, `"parse-passwd": "^1.0.0"`, `cookie: "npm:^0.7.2"`,
		"type line struct {\n\tmachine  string\n\tlogin    string\n\tpassword string\n}",
		"curl --token $TOKEN", "tool --password <password>", "tool --token TOKEN --api-key your-api-key", "mount --token-file=/run/secrets/token1",
		"username:password@tcp(127.0.0.1:3306)/db", "docker login -u ada -p ${PASSWORD2}", "localhost:5432:db:user:password", "IDENTIFIED BY 'password'",
		"<password>${env.PASSWORD1}</password>", "- name: API_TOKEN\n  valueFrom:\n    secretKeyRef:\n      name: token-1",
		"{\"d\": \"M10 10 L20 20\"}", "https://x.example/a%20b?q=%E2%82%AC&next=%2Fhome", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
		base64.StdEncoding.EncodeToString([]byte("only some words, and none of them is a secret of anybody")),
	} {
		require.Equal(t, text, r.Text(text))
	}
}

// What is not in base64 as a whole is decoded once: a text of many beginnings costs no more than another.
func TestEachLetterIsDecodedOnce(t *testing.T) {
	for _, unit := range []string{"Pj4+", "Pz8_", "YWFhYWFhYWFhYWFhYWFhYWFh/"} {
		text, letters := strings.Repeat(unit, 5000)+strings.Repeat("AAAA", 100), 0
		eachBase64(text, func(from, to int, _ string) bool { letters += to - from; return true })
		require.LessOrEqual(t, letters, len(text), unit)
	}
}
