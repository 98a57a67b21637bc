package ledger_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// breaker passes bytes between the store and PostgreSQL until it sees a COMMIT that it was told to break.
type breaker struct {
	target string // socket of the database

	mu sync.Mutex
	at moment // of the next break
}

// moment is when a breaker breaks a connection.
type moment int

const (
	never        moment = iota
	beforeCommit        // COMMIT does not arrive
	afterCommit         // COMMIT arrives, its answer does not
)

func (b *breaker) arm(m moment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = m
}

// fire tells what to do with p, once.
func (b *breaker) fire(p []byte) moment {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !bytes.Contains(bytes.ToLower(p), []byte("commit\x00")) {
		return never
	}
	m := b.at
	b.at = never
	return m
}

// listen returns the URL of the database behind b.
func (b *breaker) listen(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	must(t, err)
	q := u.Query()
	socket := ".s.PGSQL." + q.Get("port")
	b.target = filepath.Join(q.Get("host"), socket)
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, socket))
	must(t, err)
	var serving sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { b.serve(conn) })
		}
	})
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return u.String()
}

func (b *breaker) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", b.target)
	if err != nil {
		return
	}
	var answers sync.WaitGroup
	defer answers.Wait()
	defer server.Close()
	var silent sync.Mutex // held while answers are swallowed
	answers.Go(func() {
		defer client.Close()
		p := make([]byte, 64<<10)
		for {
			n, err := server.Read(p)
			if err != nil {
				return
			}
			silent.Lock()
			_, err = client.Write(p[:n])
			silent.Unlock()
			if err != nil {
				return
			}
		}
	})
	p := make([]byte, 64<<10)
	for {
		n, err := client.Read(p)
		if err != nil {
			return
		}
		switch b.fire(p[:n]) {
		case beforeCommit:
			return
		case afterCommit:
			b.commitSilently(client, server, &silent, p[:n])
			return
		}
		if _, err := server.Write(p[:n]); err != nil {
			return
		}
	}
}

// commitSilently passes the COMMIT on, and takes the client away before the answer comes.
func (b *breaker) commitSilently(client, server net.Conn, silent *sync.Mutex, p []byte) {
	silent.Lock()
	defer silent.Unlock()
	_, _ = server.Write(p)
	client.Close()
	// Terminate: the server works through what it got before, and then hangs up.
	_, _ = server.Write([]byte{'X', 0, 0, 0, 4})
	_, _ = io.Copy(io.Discard, server)
}

func TestC48_AConnectionThatBreaksAtCommitLeavesOneTrueAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		at   moment
	}{{"BeforeItArrives", beforeCommit}, {"BeforeItIsAnswered", afterCommit}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dsn := postgrestest.DSN(t)
			b := &breaker{}
			st := open(t, b.listen(t, dsn))
			l := start(t, st, ledger.Options{})
			must(t, l.Do(t.Context(), submit("t1", "k1", 9)))
			b.arm(c.at)
			batch := []ledger.Verb{submit("t2", "k2", 9), submit("t3", "k3", 9)}
			for _, err := range l.DoAll(t.Context(), batch) {
				wantCode(t, "a verb of the batch", err, "outcome_unknown")
			}
			direct := open(t, dsn)
			if c.at == afterCommit {
				eventually(t, "the commit", func() bool { return len(allTasks(t, direct)) == 3 })
			} else if n := len(allTasks(t, direct)); n != 1 {
				t.Errorf("%d tasks are stored, want 1", n)
			}
			// The callers repeat, under other ids as a server would draw them.
			mustAll(t, l.DoAll(t.Context(), []ledger.Verb{submit("t2-again", "k2", 9), submit("t3-again", "k3", 9)}))
			if n := len(allTasks(t, direct)); n != 3 {
				t.Errorf("%d tasks are stored after the repeat, want 3", n)
			}
		})
	}
}
