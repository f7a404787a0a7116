package redact

import (
	"slices"
	"strings"
	"unicode"

	"savant/internal/pattern"
)

// SecretName reports whether a variable, a header or a member of an object with
// this name holds a secret. A name is judged by its words, not by how it ends:
// access_token and apiKey are secrets, next_page_token and issueKey are not.
func SecretName(name string) bool {
	words := wordsOf(name)
	if len(words) == 0 {
		return false
	}
	last, before := words[len(words)-1], ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	joined := strings.TrimSuffix(strings.TrimSuffix(last, "token"), "key") // apikey, authtoken
	switch {
	case slices.Contains(secretWords, last), last == "base" && before == "key", strings.HasSuffix(last, "password"), strings.HasSuffix(last, "passwd"):
		return true
	case last == "token":
		return !slices.Contains(placeWords, before)
	case strings.HasSuffix(last, "token"):
		return !slices.Contains(placeWords, joined)
	case last != "key":
		return slices.Contains(keyWords, joined) && strings.HasSuffix(last, "key")
	case before == "", slices.Contains(placeWords, before), slices.Contains(thingWords, before):
		return false
	}
	return slices.Contains(keyWords, before) || name == strings.ToUpper(name)
}

var (
	// secretWords name a secret by themselves.
	secretWords = strings.Fields("secret passphrase authorization cookie credential credentials")
	// keyWords before "key" say that it opens something. The name of an environment
	// variable needs none: OPENAI_KEY.
	keyWords = strings.Fields("api access private secret auth signing encryption decryption subscription preshared account master license ssh hmac aes webhook consumer")
	// placeWords before "token" or "key" say that it is a place in a list or a text, or
	// tells requests apart.
	placeWords = strings.Fields("next previous prev page paging pagination continuation continue sync cursor marker start starting begin end ending stop resume offset " +
		"first last scroll position range delta watch max min eos bos pad unk sep cls mask special idempotency dedup deduplication")
	// thingWords before "key" say that it names or finds a thing.
	thingWords = strings.Fields("public primary foreign unique composite candidate partition clustering sort hash cache request issue project ticket epic board space repo repository " +
		"story s3 object blob bucket file image row record document item entity parent child group map dict lookup index order translation locale message config setting " +
		"option property feature flag event routing topic queue registry menu hot shortcut arrow answer data join")
)

// mostOfName is how many bytes of a name are judged, from its end.
const mostOfName = 64

// wordsOf returns the words of a name in small letters: "nextPageToken" and
// "NEXT_PAGE_TOKEN" have three.
func wordsOf(name string) []string {
	var words []string
	for part := range strings.FieldsFuncSeq(name[max(0, len(name)-mostOfName):], func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		from := 0
		for at := 1; at < len(part); at++ {
			if isUpper(part[at]) && (!isUpper(part[at-1]) || at+1 < len(part) && isLower(part[at+1])) {
				words, from = append(words, strings.ToLower(part[from:at])), at
			}
		}
		words = append(words, strings.ToLower(part[from:]))
	}
	return words
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// SecretSetting is SecretName for the variables, headers and parameters of one
// configured server, where more names are those of secrets.
func SecretSetting(name string) bool { return secretSetting().MatchString(name) }

var secretSetting = pattern.Lazy(`(?i)token|secret|passw|passphrase|pwd|authorization|(^|[_-])(auth|key|pat|apikey)$|credential|cookie`)

// secretVariable matches further names of environment variables, but not PWD.
func secretVariable(name string) bool {
	for _, ending := range []string{"_PASS", "_PWD", "_PAT", "_AUTH"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}
