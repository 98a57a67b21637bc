package adb

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// DefaultPort is where an adb server listens when nothing says otherwise.
const DefaultPort = 5037

// Address is where an adb server listens. The zero value is the default, 127.0.0.1:5037.
type Address struct {
	network string // "tcp" or "unix"
	target  string // as package net takes it
}

// ResolveAddress says which server to talk to, as adb itself decides it:
//
//  1. explicit, a HOST:PORT (or a socket spec) given by the user
//  2. ADB_SERVER_SOCKET, a socket spec: tcp:PORT, tcp:HOST:PORT, localfilesystem:PATH or localabstract:NAME
//  3. ANDROID_ADB_SERVER_ADDRESS and ANDROID_ADB_SERVER_PORT, each with its default
//
// Empty variables count as not set. getenv is os.Getenv outside tests. An error names the
// variable that holds the bad value: guessing 5037 instead could drive somebody else's phones.
func ResolveAddress(explicit string, getenv func(string) string) (Address, error) {
	if explicit != "" {
		a, err := parseExplicit(explicit)
		if err != nil {
			return Address{}, fmt.Errorf("adb server address %q: %w", explicit, err)
		}
		return a, nil
	}
	if spec := getenv("ADB_SERVER_SOCKET"); spec != "" {
		a, err := parseSocketSpec(spec)
		if err != nil {
			return Address{}, fmt.Errorf("ADB_SERVER_SOCKET %q: %w", spec, err)
		}
		return a, nil
	}
	host, port := getenv("ANDROID_ADB_SERVER_ADDRESS"), getenv("ANDROID_ADB_SERVER_PORT")
	if host == "" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = strconv.Itoa(DefaultPort)
	}
	a, err := tcpAddress(host, port)
	if err != nil {
		return Address{}, fmt.Errorf("ANDROID_ADB_SERVER_PORT %q: %w", port, err)
	}
	return a, nil
}

func parseExplicit(s string) (Address, error) {
	for _, kind := range []string{"tcp:", "localfilesystem:", "localabstract:"} {
		if strings.HasPrefix(s, kind) {
			return parseSocketSpec(s)
		}
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return Address{}, errors.New("want HOST:PORT")
	}
	return tcpAddress(host, port)
}

func parseSocketSpec(spec string) (Address, error) {
	kind, rest, ok := strings.Cut(spec, ":")
	if !ok || rest == "" {
		return Address{}, errors.New("want tcp:HOST:PORT, tcp:PORT, localfilesystem:PATH or localabstract:NAME")
	}
	switch kind {
	case "tcp":
		if !strings.Contains(rest, ":") {
			return tcpAddress("127.0.0.1", rest)
		}
		host, port, err := net.SplitHostPort(rest)
		if err != nil {
			return Address{}, errors.New("want tcp:HOST:PORT")
		}
		return tcpAddress(host, port)
	case "localfilesystem":
		return Address{network: "unix", target: rest}, nil
	case "localabstract":
		return Address{network: "unix", target: "@" + rest}, nil
	}
	return Address{}, fmt.Errorf("unknown socket type %q", kind)
}

func tcpAddress(host, port string) (Address, error) {
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return Address{}, errors.New("a port is a number from 1 to 65535")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return Address{network: "tcp", target: net.JoinHostPort(host, strconv.Itoa(n))}, nil
}

func (a Address) orDefault() Address {
	if a.network == "" {
		return Address{network: "tcp", target: net.JoinHostPort("127.0.0.1", strconv.Itoa(DefaultPort))}
	}
	return a
}

// String is a as the socket spec that adb takes in ADB_SERVER_SOCKET and after -L.
func (a Address) String() string {
	a = a.orDefault()
	switch {
	case a.network == "tcp":
		return "tcp:" + a.target
	case strings.HasPrefix(a.target, "@"):
		return "localabstract:" + a.target[1:]
	}
	return "localfilesystem:" + a.target
}

// listenSpec is a as a server takes it that is to listen there: adb binds loopback when it is given a
// port alone, and refuses any host but "localhost".
func (a Address) listenSpec() string {
	a = a.orDefault()
	if a.network == "tcp" {
		if _, port, err := net.SplitHostPort(a.target); err == nil {
			return "tcp:" + port
		}
	}
	return a.String()
}

// local reports whether a server at a would run on this machine, so that it can be started from here.
func (a Address) local() bool {
	a = a.orDefault()
	if a.network != "tcp" {
		return true
	}
	host, _, err := net.SplitHostPort(a.target)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
