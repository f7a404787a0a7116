package redact

import (
	_ "embed"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"savant/internal/pattern"
)

// rulesFile describes the keys of some two hundred services.
//
//go:embed rules.tsv
var rulesFile string

// rule finds the keys of one service. It is tried only near its keywords. Its
// pattern is compiled on first use.
type rule struct {
	name     string
	keywords []string
	pattern  func() *regexp.Regexp
	// group of the pattern that is the secret; 0: the first that is not empty.
	group int
	// entropy is the least entropy of a key, in bits a byte.
	entropy float64
	// assigned: the secret has no shape of its own, but stands where one is given. It
	// must have digits and letters, or many capitals among small letters.
	assigned bool
}

// gitleaks lets few bytes stand around a key. In a sentence, in markup and in an address
// others do, such as a comma, a bracket or an ampersand.
const (
	endOfKey      = `(?:[\x60'"\s;]|\\[nr]|$)`
	endOfAzureKey = `(?:$|[\\'"\x60\s<),])`
	anyEnd        = `(?:[^\w-]|$)`

	beginOfAzureKey = `(?:^|[\\'"\x60\s>=:(,)])`
	anyBegin        = `(?:^|[^\w~.-])`
)

// rules are those of the file.
var rules = sync.OnceValue(func() []*rule {
	var list []*rule
	ends := strings.NewReplacer(endOfKey, anyEnd, endOfAzureKey, anyEnd, beginOfAzureKey, anyBegin)
	for line := range strings.Lines(rulesFile) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 5)
		if strings.HasPrefix(line, "#") || len(fields) != 5 {
			continue
		}
		made := &rule{name: fields[0], keywords: strings.Fields(fields[3]), assigned: strings.HasSuffix(fields[0], "-assigned"), pattern: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(ends.Replace(fields[4])) })}
		made.entropy, _ = strconv.ParseFloat(fields[1], 64) // a test reads all of them
		made.group, _ = strconv.Atoi(fields[2])
		list = append(list, made)
	}
	return list
})

// services are the words of the rules.
func services() []word {
	var list []word
	for _, each := range rules() {
		for _, keyword := range each.keywords {
			list = append(list, word{text: keyword, fold: true, secret: func(r *scanner, at, _ int) span {
				each.search(r, at)
				return span{}
			}})
		}
	}
	return list
}

// A rule is tried on the text around its keyword: beforeKeyword bytes before it,
// for the name that a key is assigned to, and partOfText bytes from it on.
// Keywords whose longest key ends within that part are not tried again.
const (
	beforeKeyword = 96
	longestKey    = 320
	partOfText    = 4 * longestKey
)

// mostEntropy bounds the entropy of a rule. One in ten random keys of 30 letters
// has less than 4, and a key that is missed is shown.
const mostEntropy = 3

// search adds the keys that the rule finds around a keyword.
func (k *rule) search(r *scanner, at int) {
	if at+longestKey <= r.searched[k] {
		return
	}
	from, to := max(0, at-beforeKeyword), min(len(r.text), at+partOfText)
	r.searched[k] = to
	if to == len(r.text) {
		r.searched[k] = math.MaxInt
	}
	for _, match := range k.pattern().FindAllStringSubmatchIndex(r.text[from:to], -1) {
		if r.inBase64(from + match[0]) {
			continue
		}
		found := k.secret(match)
		if key := r.text[from+found.from : from+found.to]; k.isKey(key) {
			end := from + found.to
			switch {
			case end == to: // the part may have cut it
				end = r.run(end, tokenBytes)
			case keyBytes[r.text[end-1]]: // a newer form of the key may be longer
				end = r.run(end, keyBytes)
			}
			r.found = append(r.found, span{from + found.from, end})
		}
	}
}

// isKey reports whether what the pattern matched is a secret, and not words, nor what
// examples have in place of one.
func (k *rule) isKey(text string) bool {
	switch {
	case entropy(text) <= min(k.entropy, mostEntropy) || areWords(text) || typeName().MatchString(text) || isPlaceholder(text):
		return false
	case k.name == userRule:
		return !exampleUser(text)
	case k.assigned:
		return (mixed(text) || changes(text)*4 > len(text)) && !selector().MatchString(text) && !fileName().MatchString(text)
	}
	return true
}

// typeName matches a name of several words: MicrosoftEntraId, sparkExecutorActorSystem.
var typeName = pattern.Lazy(`^[A-Za-z][a-z]{4,}([A-Z][a-z]+)+$`)

// inBase64 reports whether a place is within data in base64, in which a key would be
// found by chance. A line that a diff adds begins with +, too.
func (r *scanner) inBase64(at int) bool {
	return r.follows(at, '+') && r.has(at-2, base64Bytes) && !strings.HasSuffix(r.text[:at-1], `\n`) || at >= longestKey && strings.IndexFunc(r.text[at-longestKey:at], func(c rune) bool { return c > 127 || !base64Bytes[byte(c)] }) < 0
}

var base64Bytes = bytesOf(letters + digits + "+/")

// secret returns the part of a match that is the key.
func (k *rule) secret(match []int) span {
	if k.group > 0 {
		return span{match[2*k.group], match[2*k.group+1]}
	}
	for i := 2; i < len(match); i += 2 {
		if match[i] < match[i+1] {
			return span{match[i], match[i+1]}
		}
	}
	return span{match[0], match[1]}
}

// userRule finds the user and password of curl -u.
const userRule = "curl-auth-user"

// exampleUser reports whether they are those of an example, or give none.
func exampleUser(text string) bool {
	user, password, has := strings.Cut(strings.Trim(text, quoteBytes), ":")
	return has && examplePair(user, password)
}

// entropy is the Shannon entropy in bits a byte.
func entropy(text string) float64 {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	var sum float64
	for _, count := range counts {
		if count > 0 {
			share := float64(count) / float64(len(text))
			sum -= share * math.Log2(share)
		}
	}
	return sum
}
