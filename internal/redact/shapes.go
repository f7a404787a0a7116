package redact

import (
	"slices"
	"strings"
)

// keys are the prefixes of keys of well-known services, and how many bytes of
// which kind follow at least. named is the same number behind an underscore, where
// a prefix may be part of a name; 0 never matches there. Where a prefix also begins
// ordinary names (sk_buff), the rest must be dense: no word has that many letters.
var keys = []struct {
	prefixes string
	of       *set
	least    int
	named    int
	word     int
}{
	{"sk- pk- rk-", keyBytes, 8, 0, 12},
	{"sk_ pk_ rk_ whsec_", keyBytes, 8, 0, longWord},
	{"ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", keyBytes, 8, 20, longWord},
	{"glpat-", keyBytes, 8, 20, 0},
	{"xoxa- xoxb- xoxc- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", keyBytes, 8, 20, 12}, // Slack
	{"AKIA ASIA", alphanumeric, 12, 16, 0},                                         // AWS
	{"AIza", keyBytes, 12, 16, 0},                                                  // Google
	{"AKID", alphanumeric, 28, 0, longWord},                                        // Tencent
	{"ak- as-", alphanumeric, 22, 22, longWord},                                    // Modal
	{"hf_ npm_", alphanumeric, 30, 30, 0},                                          // Hugging Face, npm
	// Google; Groq, xAI, Nvidia, Tavily, Cerebras, Pinecone, LangSmith, Perplexity; Docker, Supabase, Sentry, Figma; Square,
	// Flutterwave, Shopify; New Relic, Contentful, CircleCI, Tailscale, Atlassian
	{"GOCSPX- gsk_ xai- nvapi- tvly- csk- pcsk_ lsv2_pt_ lsv2_sk_ pplx- dckr_pat_ dckr_oat_ sb_secret_ sntrys_ sntryu_ figd_ figo_", keyBytes, 20, 20, 0},
	{"sq0atp- sq0csp- FLWSECK- FLWSECK_TEST- shpat_ shpss_ shpca_ shppa_ NRAK- NRII- NRJS- CFPAT- CCIPAT_ tskey- ATBB ATCTT3 ATATT3", keyBytes, 20, 20, 0},
	// Browserbase, Stytch, Axiom, Trigger.dev, Polar, Helicone; Inngest, Paddle, Buildkite
	{"bb_live_ bb_test_ secret-live- secret-test- xaat- xapt- tr_prod_ tr_dev_ polar_oat_ sk-helicone-", keyBytes, 20, 20, 0},
	{"signkey-prod- signkey-test- pdl_live_apikey_ pdl_sdbx_apikey_ bkct_", keyBytes, 24, 24, longWord},
	{"bedrock-api-key- wandb_v1_ dG9rO AQVN", keyBytes, 34, 34, longWord}, // AWS, Weights & Biases, Intercom, Yandex
	{"ATTA", hexadecimal, 64, 64, 0},                                          // Trello
	{"rzp_live_ rzp_test_", alphanumeric, 14, 14, 0},                          // Razorpay
	{"oy2", bytesOf("abcdefghijklmnopqrstuvwxyz" + digits), 43, 43, longWord}, // NuGet
	// Google; Replicate, Fireworks, Voyage, Resend, Render, crates.io; Netlify, Supabase, Neon, Notion, PostHog, Buildkite,
	// SonarQube, Adafruit, Honeycomb
	{"ya29. 1//0 r8_ fw_ pa- re_ rnd_ cio nfp_ sbp_ napi_ ntn_ phx_ phs_ bkua_ sqp_ squ_ sqa_ aio_ hcaik_ secret_", keyBytes, 22, 22, longWord},
}

// shapes are the words of texts that look like a secret by themselves. What follows
// a scheme, stands before the host of an address, and a block with a private key are
// judged by the functions.
func shapes(credentials, userInfo, block func(r *scanner, at, end int) span) []word {
	list := []word{
		{text: "eyJ", secret: webToken},
		{text: "bearer", fold: true, secret: credentials},
		{text: "basic", fold: true, secret: credentials},
		{text: "PRIVATE KEY", secret: block},
		{text: "://", secret: userInfo},
		{text: ":AA", secret: telegram},
		{text: "pat", likely: hasDot, secret: airtable},
	}
	for _, text := range discordBegins() {
		list = append(list, word{text: text, likely: beginsKey, secret: discord})
	}
	for _, each := range keys {
		for prefix := range strings.FieldsSeq(each.prefixes) {
			list = append(list, word{text: prefix, likely: beginsKey, secret: func(r *scanner, at, end int) span {
				to := r.run(end, each.of)
				if rest := strings.ToLower(r.text[end:min(to, end+maxJudged)]); strings.Trim(rest, "x-") == "" || filledIn(rest) { // glpat-xxxxxxxx
					return span{}
				}
				if each.word > 0 && !dense(r.text[end:min(to, end+maxJudged)], each.word) {
					return span{}
				}
				if r.begins(at) && to-end >= each.least || each.named > 0 && r.follows(at, '_') && to-end >= each.named {
					return span{at, to}
				}
				return span{}
			}})
		}
	}
	return list
}

// dense reports whether a text is more than words with - and _ between them: one
// part has as many letters as no word, or there are digits and capitals among its
// letters.
func dense(text string, word int) bool {
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '-' || c == '_' }) {
		if len(part) >= word || len(part) >= 10 && mixed(part) {
			return true
		}
	}
	return changes(text) >= 3 && mixed(text)
}

// longWord is how many letters few words have.
const longWord = 16

// mixed reports whether a text has both digits and letters.
func mixed(text string) bool {
	return strings.ContainsAny(text, digits) && strings.ContainsAny(text, letters)
}

// telegram is the token of a bot: its number, a colon and 35 bytes that begin with
// AA.
func telegram(r *scanner, at, end int) span {
	from := at
	for from > 0 && at-from <= 11 && '0' <= r.text[from-1] && r.text[from-1] <= '9' {
		from--
	}
	begins := r.begins(from) || strings.HasSuffix(r.text[:from], "/bot") || strings.HasSuffix(r.text[:from], "bot") && r.begins(from-len("bot"))
	if to := r.run(at+1, keyBytes); at-from >= 8 && at-from <= 11 && begins && to-at > 33 && to-at < 40 {
		return span{from, to}
	}
	return span{}
}

// hasDot reports whether there is a dot where airtable has one.
func hasDot(text string, at int) bool {
	const dot = len("pat") + 14
	return at+dot < len(text) && text[at+dot] == '.'
}

// airtable is a personal access token: pat, 14 bytes, a dot, 64 digits of hex.
func airtable(r *scanner, at, end int) span {
	dot := r.run(end, alphanumeric)
	if !r.begins(at) || dot-end != 14 || !r.has(dot, dots) {
		return span{}
	}
	if to := r.run(dot+1, alphanumeric); to-dot > 64 {
		return span{at, to}
	}
	return span{}
}

// discord is the token of a bot: its number in base64, and two further parts.
func discord(r *scanner, at, _ int) span {
	first := r.run(at, keyBytes)
	if !r.begins(at) || first-at < 22 || first-at > 28 || !r.has(first, dots) {
		return span{}
	}
	second := r.run(first+1, keyBytes)
	if second-first < 6 || second-first > 8 || !r.has(second, dots) {
		return span{}
	}
	if to := r.run(second+1, keyBytes); to-second > 26 && to-second < 50 {
		return span{at, to}
	}
	return span{}
}

// discordBegins are the first letters of decimal digits in base64.
func discordBegins() []string {
	var all []string
	for _, first := range "MNO" {
		for _, second := range "DTjz" {
			for _, third := range letters + digits {
				all = append(all, string([]rune{first, second, third}))
			}
		}
	}
	return all
}

// webToken is a JSON web token (RFC 7519), signed or encrypted: two to five parts in
// base64, separated by dots, the first an object.
func webToken(r *scanner, at, end int) span {
	head := r.run(end, keyBytes)
	if !r.begins(at) || head-end < 6 || head == len(r.text) || r.text[head] != '.' {
		return span{}
	}
	body := r.run(head+1, keyBytes)
	if body-head <= 4 {
		return span{}
	}
	for range 3 {
		if r.has(body, dots) {
			body = r.run(body+1, keyBytes)
		}
	}
	return span{at, body}
}

// credentials follow the scheme of an authorization header. The next word of a
// sentence does not count.
func credentials(r *scanner, at, end int) span {
	from := r.run(end, blanks)
	if strings.HasPrefix(r.text[end:], "%20") {
		from = end + len("%20")
	}
	to := r.run(from, tokenBytes)
	if !r.begins(at) || from == end || to-from < 6 || to-from < 16 && !random(r.text[from:to]) {
		return span{}
	}
	return span{from, to}
}

// likelyCredentials are credentials that are no words behind "basic" or "bearer" in
// a comment or a name: a user and a password in base64, or a token.
func likelyCredentials(r *scanner, at, end int) span {
	found := credentials(r, at, end)
	text := r.text[found.from:min(found.to, found.from+maxJudged)]
	if isElided(text) {
		return span{}
	}
	if strings.EqualFold(r.text[at:end], "basic") {
		if user, password, is := basicPair(text); is {
			if len(password) < shortest || examplePair(user, password) {
				return span{}
			}
			return found
		}
		if len(text) >= longWord && mixed(text) && dense(text, longWord) {
			return found
		}
		return span{}
	}
	if dense(text, longWord) || len(text) >= 10 && mixed(text) && !selector().MatchString(text) {
		return found
	}
	return span{}
}

// random reports whether a text is more than words: it has digits, or capitals
// inside.
func random(text string) bool {
	for i := range len(text) {
		if c := text[i]; '0' <= c && c <= '9' || i > 0 && 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

// maxLabel is how many bytes may precede PRIVATE KEY in its line.
const maxLabel = 40

// privateKey is a block of RFC 7468, RFC 4716 or OpenPGP, to its end or that of the
// text.
func privateKey(r *scanner, at, end int) span {
	before := max(0, at-maxLabel)
	for _, dashes := range []string{"-----", "---- "} {
		from := strings.LastIndex(r.text[before:at], dashes+"BEGIN ")
		if from < 0 || !strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(r.text[end:], " BLOCK"), " "), "----") {
			continue
		}
		return span{before + from, r.keyEnd(end, dashes+"END ")}
	}
	return span{}
}

// likelyPrivateKey is a private key, and not a block that shows where one goes: among
// its first keyHead bytes is a line of longWord letters in base64 or more.
func likelyPrivateKey(r *scanner, at, end int) span {
	found := privateKey(r, at, end)
	inside := r.text[end:max(end, min(found.to, end+keyHead))]
	if slices.ContainsFunc(strings.FieldsFunc(inside, func(c rune) bool { return c > 127 || !base64Bytes[byte(c)] }), func(line string) bool { return len(line) >= longWord }) {
		return found
	}
	return span{}
}

const keyHead = 2048

// userInfo is the user and password of an address.
func userInfo(r *scanner, at, end int) span {
	if at == 0 || !schemeBytes[r.text[at-1]] {
		return span{}
	}
	to := end + max(0, strings.LastIndexByte(r.text[end:r.run(end, userBytes)], '@'))
	if user := r.text[end:min(to, end+maxJudged)]; !strings.Contains(user, ":") && (strings.Contains(user, "%40") || strings.Contains(user, "@") || typeName().MatchString(user)) {
		return span{} // a person's address, the name of a part: no password
	}
	return span{end, to}
}

// likelyUserInfo is a user with a password, or a token in place of both, that does
// not stand for another: ssh://git@host and http://user:password@host hold nothing.
func likelyUserInfo(r *scanner, at, end int) span {
	found := userInfo(r, at, end)
	user, password, has := strings.Cut(r.text[found.from:min(found.to, found.from+maxJudged)], ":")
	switch {
	case found.from == found.to, placeholder[r.text[found.from]], !has && (len(user) < longWord || !dense(user, longWord) || strings.Contains(user, ";") || secretNamed().MatchString(user)):
		return span{}
	case has && (len(password) <= shortest || examplePair(user, password)):
		return span{}
	}
	return found
}
