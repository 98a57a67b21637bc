package client

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Enroll turns a one-time token into a host. The same token and secret again are the same host. It needs no token of the
// client's, and is made once.
func (c *Client) Enroll(ctx context.Context, req v1.EnrollRequest) (answer v1.EnrollAnswer, err error) {
	err = c.agentCall(ctx, http.MethodPost, "enroll", "", req, &answer)
	return answer, err
}

// Agent makes the calls of a Host Agent, whose secret is the client's token. Each is made once, under its context's
// deadline: the agent repeats by its own rules. A runner's text is made fit to send, since a report must never be refused
// for it: bad UTF-8 and NUL become the replacement character.
type Agent struct {
	client *Client
	hostID string
}

// Agent is the client as the agent of the host. With an id every call is refused as wrong_host when the token is another
// host's; "" checks nothing.
func (c *Client) Agent(hostID string) *Agent { return &Agent{client: c, hostID: hostID} }

// Start begins a life of the agent.
func (a *Agent) Start(ctx context.Context, req v1.IncarnationRequest) (answer v1.IncarnationAnswer, err error) {
	err = a.client.agentCall(ctx, http.MethodPost, "incarnations", a.hostID, req, &answer)
	return answer, err
}

// Inventory sends the full list of devices; it is also the heartbeat.
func (a *Agent) Inventory(ctx context.Context, req v1.InventoryRequest) (answer v1.InventoryAnswer, err error) {
	if req.Devices == nil {
		req.Devices = []v1.Sighting{}
	}
	err = a.client.agentCall(ctx, http.MethodPut, "inventory", a.hostID, req, &answer)
	return answer, err
}

// Claim asks for work and waits for it, as long as the request says. The context's deadline must leave room beyond that.
func (a *Agent) Claim(ctx context.Context, req v1.ClaimRequest) (answer v1.ClaimAnswer, err error) {
	err = a.client.agentCall(ctx, http.MethodPost, "claims", a.hostID, req, &answer)
	return answer, err
}

// Renew renews leases; the answer has one entry each, in the order asked.
func (a *Agent) Renew(ctx context.Context, req v1.RenewalRequest) (answer v1.RenewalAnswer, err error) {
	if req.LeaseIDs == nil {
		req.LeaseIDs = []string{}
	}
	err = a.client.agentCall(ctx, http.MethodPost, "renewals", a.hostID, req, &answer)
	return answer, err
}

// The most characters that a report may carry of what a runner or a device said.
const (
	maxMessage = 4096
	maxReason  = 1024
)

// Report tells how an attempt ended, or gives it back. The codes lease_lost, report_conflict and lease_unknown are final.
// Message and Reason are cut where they are too long.
func (a *Agent) Report(ctx context.Context, req v1.ReportRequest) (answer v1.ReportAnswer, err error) {
	req.Message, req.Reason = cut(req.Message, maxMessage), cut(req.Reason, maxReason)
	err = a.client.agentCall(ctx, http.MethodPost, "reports", a.hostID, req, &answer)
	return answer, err
}

// AppendLog sends at most 1 MiB of one of the attempt's logs (v1.LogRunner and others), from offset on, and tells the offset that is
// expected next. No bytes ask nothing. A gap is refused as log_gap, with the offset to go on from as detail "next".
func (a *Agent) AppendLog(ctx context.Context, leaseID, name string, offset int64, p []byte) (answer v1.LogAnswer, err error) {
	if len(p) == 0 {
		return v1.LogAnswer{Next: offset}, nil
	}
	query := logQuery(name)
	query.Set("offset", strconv.FormatInt(offset, 10))
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	setHost(header, a.hostID)
	err = a.client.do(ctx, request{
		method: http.MethodPost, path: []string{"v1", "agent", "leases", leaseID, "log"}, query: query, header: header, body: p,
	}, &answer)
	return answer, err
}

// EndLog says that one of the attempt's logs, of which a report announced that more would come, is whole with size bytes. Fewer
// on the other side are refused as log_gap, as with AppendLog.
func (a *Agent) EndLog(ctx context.Context, leaseID, name string, size int64) error {
	query := logQuery(name)
	query.Set("size", strconv.FormatInt(size, 10))
	header := http.Header{}
	setHost(header, a.hostID)
	return a.client.do(ctx, request{
		method: http.MethodPost, path: []string{"v1", "agent", "leases", leaseID, "log", "end"}, query: query, header: header,
	}, nil)
}

func logQuery(name string) url.Values {
	query := url.Values{}
	if name != v1.LogRunner {
		query.Set("name", name)
	}
	return query
}

func (c *Client) agentCall(ctx context.Context, method, name, hostID string, req, answer any) error {
	body, err := bodyOf(req)
	if err != nil {
		return err
	}
	header := http.Header{}
	setHost(header, hostID)
	return c.do(ctx, request{method: method, path: []string{"v1", "agent", name}, header: header, body: cleaned(body)}, answer)
}

// cut is s, or its first limit characters.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit])
}

func setHost(header http.Header, hostID string) {
	if hostID != "" {
		header.Set(v1.HeaderHostID, hostID)
	}
}

// cleaned is JSON text in which what the server would refuse is replaced: bytes that are not UTF-8, NUL, and halves of
// characters.
func cleaned(body []byte) []byte {
	body = bytes.ToValidUTF8(body, []byte("\ufffd"))
	if !bytes.Contains(body, []byte(`\u`)) {
		return body
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		code, size := escapeAt(body, i)
		low, lowSize := escapeAt(body, i+size)
		switch {
		case code >= 0xd800 && code < 0xdc00 && low >= 0xdc00 && low < 0xe000: // a whole character
			size += lowSize
			out = append(out, body[i:i+size]...)
		case code == 0, code >= 0xd800 && code < 0xe000:
			out = append(out, `\ufffd`...)
		default:
			out = append(out, body[i:i+size]...)
		}
		i += size
	}
	return out
}

// escapeAt reads the JSON escape or plain byte at i: how long it is, and the code of a \u escape, else -1.
func escapeAt(body []byte, i int) (code, size int) {
	switch {
	case i >= len(body):
		return -1, 0
	case body[i] != '\\' || i+1 >= len(body):
		return -1, 1
	case body[i+1] != 'u' || i+6 > len(body):
		return -1, 2
	}
	n, err := strconv.ParseUint(string(body[i+2:i+6]), 16, 16)
	if err != nil {
		return -1, 2
	}
	return int(n), 6
}
