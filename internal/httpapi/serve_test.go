package httpapi_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/httpapi"
)

func TestListenRefusesPlainHTTPWhereOthersListen(t *testing.T) {
	t.Parallel()
	for addr, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "127.8.8.8:0": true, "0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.1:0": false,
	} {
		ln, err := httpapi.Listen(addr, httpapi.ListenOptions{})
		if (err == nil) != ok {
			t.Errorf("%s: got %v", addr, err)
		}
		if err == nil {
			ln.Close()
		} else if !strings.Contains(err.Error(), "--insecure") || !strings.Contains(err.Error(), "--tls-cert") {
			t.Errorf("%s: the refusal does not say what to do: %v", addr, err)
		}
	}
	ln, err := httpapi.Listen("0.0.0.0:0", httpapi.ListenOptions{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if _, err := httpapi.Listen("127.0.0.1:0", httpapi.ListenOptions{CertFile: "cert.pem"}); err == nil {
		t.Error("a certificate without its key is accepted")
	}
}

// serve runs a server until the test ends, or stop is called; stop gives what Serve gave.
func serve(t *testing.T, f *scripted, opts httpapi.ListenOptions) (addr string, stop func() error) {
	t.Helper()
	addrs := "127.0.0.1:0"
	ln, err := httpapi.Listen(addrs, opts)
	if err != nil {
		t.Fatal(err)
	}
	s := httpapi.New(f, auth.New(f, adminToken), httpapi.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	stopped := false
	stop = func() error {
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if !stopped {
			_ = stop()
		}
	})
	return ln.Addr().String(), stop
}

func claimRequest(t *testing.T, ctx context.Context, addr string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr+"/v1/agent/claims",
		strings.NewReader(`{"incarnation":1,"claim_id":"12345678","max":1,"wait_ms":25000}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+hostToken)
	return req
}

func TestShutdownAnswersParkedClaimsEmpty(t *testing.T) {
	t.Parallel()
	f := newScripted()
	parked := make(chan struct{})
	f.claim = func(ctx context.Context) ([]control.Claimed, error) {
		close(parked)
		select {
		case <-f.closed:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	addr, stop := serve(t, f, httpapi.ListenOptions{})
	got := make(chan string, 1)
	go func() {
		resp, err := http.DefaultClient.Do(claimRequest(t, context.Background(), addr))
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		got <- string(body)
	}()
	<-parked
	if err := stop(); err != nil {
		t.Errorf("serve: %v", err)
	}
	if body := <-got; body != `{"assignments":[]}`+"\n" {
		t.Errorf("got %s", body)
	}
}

func TestABrokenParkedClaimEndsItsContext(t *testing.T) {
	t.Parallel()
	f := newScripted()
	parked, ended := make(chan struct{}), make(chan error, 1)
	f.claim = func(ctx context.Context) ([]control.Claimed, error) {
		close(parked)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	addr, _ := serve(t, f, httpapi.ListenOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		resp, err := http.DefaultClient.Do(claimRequest(t, ctx, addr))
		if err == nil {
			resp.Body.Close()
		}
	}()
	<-parked
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the use case is not told that its caller went away")
	}
}

// TestAParkedClaimHasNoReadDeadline looks at the connection itself: a read deadline that passes while a claim is parked would
// end the request.
func TestAParkedClaimHasNoReadDeadline(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.claim = func(context.Context) ([]control.Claimed, error) { return nil, nil }
	s := httpapi.New(f, auth.New(f, adminToken), httpapi.Options{})
	for name, body := range map[string]io.Reader{
		"known length":   strings.NewReader(`{"incarnation":1,"claim_id":"12345678","max":1,"wait_ms":0}`),
		"unknown length": io.MultiReader(strings.NewReader(`{"incarnation":1,"claim_id":"12345678","max":1,"wait_ms":0}`)),
	} {
		w := &deadlines{header: http.Header{}}
		req, err := http.NewRequestWithContext(t.Context(), "POST", "/v1/agent/claims", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+hostToken)
		if name == "unknown length" {
			req.ContentLength = -1
		}
		s.ServeHTTP(w, req)
		if w.status != 200 || len(w.read) < 2 || w.read[0].IsZero() || !w.read[len(w.read)-1].IsZero() || time.Until(w.write) < 50*time.Second {
			t.Errorf("%s: status %d, read deadlines %v, write deadline %v", name, w.status, w.read, w.write)
		}
	}
}

// deadlines is a connection that notes its deadlines.
type deadlines struct {
	header http.Header
	status int
	read   []time.Time
	write  time.Time
}

func (d *deadlines) Header() http.Header                { return d.header }
func (d *deadlines) WriteHeader(status int)             { d.status = status }
func (d *deadlines) Write(p []byte) (int, error)        { return len(p), nil }
func (d *deadlines) SetReadDeadline(at time.Time) error { d.read = append(d.read, at); return nil }
func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.write = at
	return nil
}

func TestServeOverTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, pool := certificate(t)
	addr, _ := serve(t, newScripted(), httpapi.ListenOptions{CertFile: certFile, KeyFile: keyFile})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + addr + "/v1/version")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("got %d", resp.StatusCode)
	}
}

func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(certFile, certPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}
