package keys

import (
	"bytes"
	"cmp"
	"path"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"savant/fault"
)

// Allowed is a key whose signatures count, and whose they are.
type Allowed struct {
	Name        string
	Fingerprint string
	// After and Before bound when the key counts; zero for no bound.
	After, Before time.Time
}

// At reports whether the key counts at a time.
func (a Allowed) At(when time.Time) bool {
	return (a.After.IsZero() || !when.Before(a.After)) && (a.Before.IsZero() || when.Before(a.Before))
}

// AllowedSigners reads a file in the format of ssh-keygen's allowed_signers. Lines of
// other namespaces do not count, nor do those of certificate authorities, since no
// certificate signs a proof.
func AllowedSigners(text []byte) ([]Allowed, error) {
	var found []Allowed
	for number, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		principals, rest, quoted := strings.Cut(strings.TrimPrefix(line, `"`), `"`)
		if !quoted || line[0] != '"' {
			end := max(0, strings.IndexAny(line, " \t"))
			principals, rest = line[:end], line[end:]
		}
		public, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
		if err != nil || principals == "" || strings.Contains(principals, `"`) {
			return nil, fault.New(fault.InvalidParams, "line %d of the allowed signers is not \"name [options] type key\"", number+1)
		}
		allowed, counts, err := limited(Allowed{Name: principals, Fingerprint: ssh.FingerprintSHA256(public)}, options)
		if err != nil {
			return nil, fault.New(fault.InvalidParams, "line %d of the allowed signers: %w", number+1, err)
		}
		if counts {
			found = append(found, allowed)
		}
	}
	return found, nil
}

// limited applies the options of a line; counts is false if it is not for keys that sign
// proofs.
func limited(allowed Allowed, options []string) (_ Allowed, counts bool, err error) {
	counts = true
	for _, option := range options {
		name, quoted, _ := strings.Cut(option, "=")
		value, opened := strings.CutPrefix(quoted, `"`)
		value, closed := strings.CutSuffix(value, `"`)
		switch name = strings.ToLower(name); {
		case strings.EqualFold(option, "cert-authority"):
			counts = false
		case !opened || !closed:
			err = fault.New(fault.InvalidParams, "the option %s is not known, or its value is not in quotation marks", fault.Cut(name, 40))
		case name == "namespaces":
			counts = counts && namespaced(value)
		case name == "valid-after":
			allowed.After, err = day(value)
		case name == "valid-before":
			allowed.Before, err = day(value)
		default:
			err = fault.New(fault.InvalidParams, "the option %s is not known", fault.Cut(name, 40))
		}
		if err != nil {
			return allowed, false, err
		}
	}
	return allowed, counts, nil
}

// namespaced reports whether a list of patterns, in which only * and ? are special, fits
// proofs.
func namespaced(list string) bool {
	fits := false
	for each := range strings.SplitSeq(list, ",") {
		pattern, negated := strings.CutPrefix(each, "!")
		matches, _ := path.Match(strings.NewReplacer(`[`, `\[`, `\`, `\\`).Replace(pattern), Namespace) // every such pattern is one
		if negated && matches {
			return false
		}
		fits = fits || matches
	}
	return fits
}

// day reads YYYYMMDD[HHMM[SS]][Z]. Without Z it is the time of this machine, as for
// ssh-keygen.
func day(text string) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	zone := time.Local
	if utc {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if at, err := time.ParseInLocation(layout, digits, zone); err == nil && at.Unix() >= 0 {
			return at, nil
		}
	}
	return time.Time{}, fault.New(fault.InvalidParams, "%q is no time: write YYYYMMDD", fault.Cut(text, 40))
}

// PublicKeys reads one public key or several, a line each, as NAME.pub has them.
func PublicKeys(text []byte) (found []Allowed, err error) {
	for rest := text; len(bytes.TrimSpace(rest)) > 0; {
		public, comment, _, after, err := ssh.ParseAuthorizedKey(rest)
		if err != nil {
			return nil, fault.New(fault.InvalidParams, "there is no public key of OpenSSH in it")
		}
		fingerprint := ssh.FingerprintSHA256(public)
		found, rest = append(found, Allowed{Name: cmp.Or(comment, fingerprint), Fingerprint: fingerprint}), after
	}
	return found, nil
}
