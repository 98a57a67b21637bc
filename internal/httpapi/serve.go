package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout   = 10 * time.Second // to send a request's header
	bodyTimeout     = 30 * time.Second // to send its body, from its header on
	answerTimeout   = 60 * time.Second // to take an answer, from the request's header on; more than the longest parked claim
	callTimeout     = 15 * time.Second // of ours, to find an answer: a database that hangs is one that is away
	parkTimeout     = 25 * time.Second // the longest that a claim may ask to be parked
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 10 * time.Second // for answers under way when the server stops
	maxHeaderBytes  = 64 << 10
)

// ListenOptions say how to listen.
type ListenOptions struct {
	CertFile, KeyFile string // TLS with these; both or neither
	Insecure          bool   // plain HTTP also where others can listen in
}

// Listen opens addr, HOST:PORT. Without TLS any address but a loopback one is refused, unless opts say that it is meant:
// tokens would cross the network in the clear.
func Listen(addr string, opts ListenOptions) (net.Listener, error) {
	if (opts.CertFile == "") != (opts.KeyFile == "") {
		return nil, errors.New("TLS needs both a certificate and its key")
	}
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen address: %w", err)
	}
	if opts.CertFile == "" && !opts.Insecure && !at.IP.IsLoopback() {
		return nil, fmt.Errorf("%s is not a loopback address, and tokens would cross the network in the clear: "+
			"give --tls-cert and --tls-key, or say --insecure if something else protects the connection", addr)
	}
	var config *tls.Config
	if opts.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(opts.CertFile, opts.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("load the TLS certificate: %w", err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	}
	ln, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if config != nil {
		return tls.NewListener(ln, config), nil
	}
	return ln, nil
}

// Serve answers requests on ln until ctx ends; then event streams end, parked claims are answered empty, and answers under
// way get a few seconds. It closes ln. A clean end is nil.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	// There is no ReadTimeout and no WriteTimeout: both would count while a claim is parked, and a passed read deadline looks
	// like a caller that went away. Each request sets its own deadlines instead, see around.
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(ln) }()
	select {
	case err := <-failed:
		s.Close()
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	s.Close()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(patience)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop serving HTTP: %w", err), server.Close())
	}
	<-failed
	return err
}
