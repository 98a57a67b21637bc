package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	startTimeout = 60 * time.Second
	stopFast     = syscall.SIGINT  // roll back, tell the clients, leave
	stopAtOnce   = syscall.SIGQUIT // leave
)

// cluster is one data directory and the server that runs on it, when it does.
type cluster struct {
	home     *home
	bin      string
	attr     *syscall.SysProcAttr
	settings []string
	schemas  atomic.Int64

	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended; nil before the first start
}

// newCluster makes a data directory and starts a server on it.
func newCluster(ctx context.Context, settings []string) (*cluster, error) {
	bin, err := findPrograms()
	if err != nil {
		return nil, err
	}
	who, err := serverUser()
	if err != nil {
		return nil, err
	}
	h, err := newHome(who)
	if err != nil {
		return nil, err
	}
	c := &cluster{home: h, bin: bin, attr: processAttr(who), settings: settings}
	if err := c.init(ctx); err != nil {
		h.remove()
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

func (c *cluster) init(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "initdb"),
		"-D", c.home.data(), "-U", "phonebooth", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir = c.home.dir
	cmd.SysProcAttr = c.attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make a data directory: %w\n%s", err, out)
	}
	return nil
}

// start runs the server and returns when it answers.
func (c *cluster) start(ctx context.Context) error {
	log, err := os.OpenFile(c.home.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close()
	c.cmd = exec.Command(filepath.Join(c.bin, "postgres"), c.arguments()...)
	c.cmd.Dir = c.home.dir
	c.cmd.SysProcAttr = c.attr
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.exited = make(chan struct{})
	started := make(chan error, 1)
	go run(c.cmd, started, c.exited)
	if err := <-started; err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	return c.waitReady(ctx)
}

// run starts cmd and waits for its end. The thread is kept for it alone: the kernel
// sends a child the parent-death signal when the thread that started it ends.
func run(cmd *exec.Cmd, started chan<- error, exited chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(exited)
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait() // a server that ends early is found by waitReady, with its log
	}
}

func (c *cluster) arguments() []string {
	args := []string{
		"-D", c.home.data(), "-k", c.home.dir,
		// Commits are written to the log before they are answered, so that Kill loses
		// none; that the disk has them is not waited for.
		"-c", "fsync=off", "-c", "full_page_writes=off",
		"-c", "listen_addresses=", "-c", "shared_buffers=32MB", "-c", "max_connections=200",
	}
	for _, s := range c.settings {
		args = append(args, "-c", s)
	}
	return args
}

func (c *cluster) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.dsn("public"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.exited:
			return fmt.Errorf("the server ended while starting:\n%s", c.logTail())
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w\n%s", err, c.logTail())
		case <-tick.C:
		}
	}
}

// logTail is the last of what the server had to say.
func (c *cluster) logTail() []byte {
	log, err := os.ReadFile(c.home.log())
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(log[max(0, len(log)-2048):])
}

// signal ends the server, if it runs, and returns when it has ended.
func (c *cluster) signal(s syscall.Signal) {
	if c.exited == nil || c.cmd.Process == nil {
		return
	}
	_ = c.cmd.Process.Signal(s) // fails only if it has ended
	<-c.exited
}

// remove ends the server and deletes all that it had.
func (c *cluster) remove() {
	c.signal(stopAtOnce)
	c.home.remove()
}

func (c *cluster) dsn(schema string) string {
	q := url.Values{"host": {c.home.dir}, "port": {"5432"}, "sslmode": {"disable"}, "search_path": {schema}}
	return "postgres://phonebooth@/postgres?" + q.Encode()
}

func (c *cluster) createSchema(ctx context.Context) (string, error) {
	schema := fmt.Sprintf("test_%d", c.schemas.Add(1))
	return schema, c.exec(ctx, "create schema "+schema)
}

func (c *cluster) dropSchema(ctx context.Context, schema string) error {
	return c.exec(ctx, "set lock_timeout = '10s'; set client_min_messages = warning; drop schema "+schema+" cascade")
}

func (c *cluster) exec(ctx context.Context, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.dsn("public"))
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	_, err = conn.Exec(ctx, sql)
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}
