// Package client is the way into a Phonebooth control plane from Go. The command line and the Host Agent use no other.
//
//	c, err := client.New("http://127.0.0.1:8420", token, client.Options{})
//	task, err := c.Submit(ctx, v1.TaskRequest{Goal: "open Settings and turn on dark mode"})
//	task, err = c.Wait(ctx, task.ID, nil)
//
// Bodies are the types of package v1. What the server refuses is a [*phonebooth.Error] with the problem's code, message and
// details; branch on the code:
//
//	if phonebooth.CodeOf(err) == "queue_full" { ... }
//
// Two codes are the client's own: [Unreachable], when there was no answer, and [Unreadable], when there was one that cannot
// be understood. After either nobody knows whether the call took effect.
//
// Calls that may safely be made twice are repeated for a while when the server is not there or answers 503; see
// [Options.Patience]. Submissions are among them, since every one carries an Idempotency-Key. The agent calls, on [Agent],
// are never repeated behind their caller's back.
//
// A Client may be used by any number of goroutines.
package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Codes of errors that are not the server's.
const (
	Unreachable = "unreachable" // no answer: no connection, or it broke, or the context ended first
	Unreadable  = "unreadable"  // an answer that is not the API's, such as a proxy's page
)

// DefaultPatience is for how long a safe call is repeated.
const DefaultPatience = 10 * time.Second

// Options tune a Client; the zero value is production.
type Options struct {
	// Patience is for how long a safe call is repeated before its last error is returned. 0 is [DefaultPatience]; a negative
	// one repeats nothing. The deadline of a call's context counts as well, whichever comes first.
	Patience time.Duration
	// UserAgent names the program to the server; "" is phonebooth.
	UserAgent string
	// RootCAs vouch for the server's certificate; nil: those of the system.
	RootCAs *x509.CertPool
	// Transport carries the requests; nil: one of the client's own, made with RootCAs.
	Transport http.RoundTripper
}

// Client calls one server with one token.
type Client struct {
	base     *url.URL
	token    string
	patience time.Duration
	agent    string
	http     *http.Client
}

// New makes a client of the server at baseURL, such as https://phones.example.org:8420. It does not connect. An empty token
// opens only the calls that need none.
func New(baseURL, token string, opts Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.User != nil {
		return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "the server's address must look like http://HOST:PORT or https://HOST:PORT")
	}
	if opts.Patience == 0 {
		opts.Patience = DefaultPatience
	}
	if opts.UserAgent == "" {
		opts.UserAgent = "phonebooth"
	}
	transport := opts.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 16
		// One connection a call that waits: a single one for all, as in HTTP/2, would take every renewal with it when it stalls. It
		// must be said to servers too, or one that prefers HTTP/2 speaks it.
		own.ForceAttemptHTTP2 = false
		own.TLSClientConfig = &tls.Config{RootCAs: opts.RootCAs, NextProtos: []string{"http/1.1"}}
		transport = own
	}
	return &Client{
		base: base, token: token, patience: opts.Patience, agent: opts.UserAgent,
		http: &http.Client{Transport: transport, CheckRedirect: noRedirect},
	}, nil
}

// noRedirect keeps the token from being carried anywhere else.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Server is the address of the server.
func (c *Client) Server() string { return c.base.String() }

// String names the server and hides the token.
func (c *Client) String() string { return fmt.Sprintf("client of %s", c.base) }

// GoString hides the token in %#v too.
func (c *Client) GoString() string { return c.String() }
