package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

// knownWords are the words of known values. URL escapes match in either case.
func knownWords(values []string) []word {
	list := make([]word, len(values))
	for i, each := range values {
		list[i] = word{text: each, fold: strings.Contains(each, "%"), secret: func(_ *scanner, at, end int) span { return span{at, end} }}
	}
	return list
}

// minLine is the least length in bytes of a line of a value that is searched for
// by itself, since output may be read line by line.
const minLine = 16

// encodings returns a value as it appears in JSON, in JSON inside a text, in URLs,
// in headers and in hex dumps.
func encodings(value string) []string {
	all := forms(value)
	if lines := strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' }); len(lines) > 1 {
		for _, each := range lines {
			if len(each) >= minLine {
				all = append(all, forms(each)...)
			}
		}
	}
	return all
}

func forms(value string) []string {
	query := url.QueryEscape(value)
	all := []string{value, query, url.PathEscape(value), strings.ReplaceAll(query, "+", "%20")}
	for _, html := range []bool{false, true} {
		once := escaped(value, html)
		all = append(all, once, escaped(once, html))
	}
	if digits := hex.EncodeToString([]byte(value)); len(digits) >= usual {
		all = append(all, digits, strings.ToUpper(digits))
	}
	if len(value) < usual {
		return all // its base64 would be too short
	}
	return append(all, inBase64(value)...)
}

// escaped returns a text as it is in JSON, without the quotes.
func escaped(text string, html bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(text) != nil { // a string always encodes
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(out.String(), "\n"), `"`), `"`)
}

// inBase64 returns a value in base64 with anything before and behind it, such as a
// user name and a colon. Three bytes become four letters, so there are three ways.
// It leaves out letters that depend on the neighbors.
func inBase64(value string) []string {
	var all []string
	for before := range 3 {
		padded := append(make([]byte, before), value...)
		from, to := (before*8+5)/6, len(padded)*8/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			all = append(all, encoding.EncodeToString(padded)[from:to])
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(value)))
	}
	return all
}
