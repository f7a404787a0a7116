package settings

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"savant/fault"
)

// checkSecretTargets refuses an address from the file for a secret that is not from
// the file, unless the host is trusted. The author of a project's settings file
// must not decide where the keys of the person who opens the project are sent.
func checkSecretTargets(values []Value, trusted []string) error {
	for _, secret := range values {
		if secret.Setting.SentTo == "" || secret.Text == "" || secret.Origin.Source == FromFile {
			continue
		}
		at := slices.IndexFunc(values, func(v Value) bool { return v.Setting.Key == secret.Setting.SentTo })
		address := values[at]
		if address.Origin.Source == FromFile && address.Text != "" && !trusts(trusted, address.Text) {
			return untrustedTarget(secret, address)
		}
	}
	return nil
}

// trusts reports whether an address is at one of the hosts, which may have a port.
// A host that is reached unencrypted over a network has to be named with its
// scheme: http://HOST.
func trusts(hosts []string, address string) bool {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return false
	}
	names := []string{parsed.Scheme + "://" + parsed.Host}
	if private(parsed) {
		names = append(names, parsed.Host, parsed.Hostname())
	}
	return slices.ContainsFunc(hosts, func(host string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, strings.TrimSuffix(host, "/")) })
	})
}

// private reports whether nobody on the network can read what is sent to an address.
func private(address *url.URL) bool {
	ip := net.ParseIP(address.Hostname())
	return address.Scheme == "https" || address.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// untrustedTarget says what would happen and what to do about it.
func untrustedTarget(secret, address Value) error {
	message := address.Setting.Key + " of this file says where " + secret.Origin.Name + " would be sent, and the file may be somebody else's: " +
		"if the address is right, say so with " + EnvTrustedHosts + "=" + trustedName(address.Text) + " or set " + address.Setting.Env +
		"; if not, take it out of the file"
	return complain(fault.Diagnostic{File: FileName, Path: address.Setting.Key, Line: address.Origin.Line,
		Column: address.Origin.Column, Message: message})
}

// trustedName is the host of an address as SAVANT_TRUSTED_HOSTS names it.
func trustedName(address string) string {
	parsed, err := url.Parse(address)
	switch {
	case err != nil || parsed.Host == "":
		return "HOST"
	case private(parsed):
		return parsed.Host
	}
	return parsed.Scheme + "://" + parsed.Host
}
