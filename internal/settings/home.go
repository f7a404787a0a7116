package settings

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"savant/fault"
)

// keepSecretsHome refuses an address of the file for a secret that is not of
// the file, unless its host is trusted: whoever wrote the file of a project that
// one works on must not be able to name where one's own keys are sent.
func keepSecretsHome(values []Value, trusted []string) error {
	for _, secret := range values {
		if secret.Setting.SentTo == "" || secret.Text == "" || secret.Origin.Source == FromFile {
			continue
		}
		at := slices.IndexFunc(values, func(v Value) bool { return v.Setting.Key == secret.Setting.SentTo })
		address := values[at]
		if address.Origin.Source == FromFile && address.Text != "" && !trusts(trusted, address.Text) {
			return straying(secret, address)
		}
	}
	return nil
}

// trusts says whether one of the hosts, with or without a port, is that of an
// address. One that is reached in the clear over a network has to be named with
// its scheme, http://HOST.
func trusts(hosts []string, address string) bool {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return false
	}
	names := []string{parsed.Scheme + "://" + parsed.Host}
	if guarded(parsed) {
		names = append(names, parsed.Host, parsed.Hostname())
	}
	return slices.ContainsFunc(hosts, func(host string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, strings.TrimSuffix(host, "/")) })
	})
}

// guarded says whether nobody between can read what is sent.
func guarded(address *url.URL) bool {
	ip := net.ParseIP(address.Hostname())
	return address.Scheme == "https" || address.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// straying says what would happen, and what to do, in the order in which it is
// likely to be right.
func straying(secret, address Value) error {
	message := address.Setting.Key + " of this file says where " + secret.Origin.Name + " would be sent, and the file may be somebody else's: " +
		"if the address is right, say so with " + EnvTrustedHosts + "=" + trustedName(address.Text) + " or set " + address.Setting.Env +
		"; if not, take it out of the file"
	return complain(fault.InvalidParams, fault.Diagnostic{File: FileName, Path: address.Setting.Key, Line: address.Origin.Line,
		Column: address.Origin.Column, Message: message})
}

// trustedName is what has to be trusted for an address, without what it hides.
func trustedName(address string) string {
	parsed, err := url.Parse(address)
	switch {
	case err != nil || parsed.Host == "":
		return "HOST"
	case guarded(parsed):
		return parsed.Host
	}
	return parsed.Scheme + "://" + parsed.Host
}
