package webdriver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

// driver is the chromedriver of one lease. It is started when it is needed, also again: the host ends it with each program of
// the lease, because it carries the lease's mark. Its browsers end with it.
type driver struct {
	program string
	dir     string   // it runs there
	env     []string // its whole environment
	turn    chan struct{}

	mu      sync.Mutex
	running *process
	address string
	over    bool // ended by us, or never to be started
}

// startTime is how long chromedriver may take until it listens, and endTime how long any process may take to die.
const (
	startTime = 30 * time.Second
	endTime   = 5 * time.Second
)

var errEnded = errors.New("chromedriver has ended")

func newDriver(program, dir string, env []string) *driver {
	return &driver{program: program, dir: dir, env: env, turn: make(chan struct{}, 1)}
}

// up starts the driver unless it runs, and says where it listens.
func (d *driver) up(ctx context.Context) (string, error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if p, address := d.now(); p != nil && !over(p.ended) {
		return address, nil
	}
	return d.start(ctx)
}

func (d *driver) now() (*process, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running, d.address
}

// start starts the driver and waits until it listens. One that does not is ended, and may be started again.
func (d *driver) start(ctx context.Context) (string, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("starting chromedriver: %w", err)
	}
	cmd := exec.Command(d.program, "--port=0", "--log-level=SEVERE", "--disable-dev-shm-usage")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.dir, d.env, in, in
	p, err := d.launch(cmd)
	in.Close()
	if err != nil {
		out.Close()
		return "", fmt.Errorf("starting chromedriver: %w", err)
	}
	heard := listen(out, p)
	timeout := time.NewTimer(startTime)
	defer timeout.Stop()
	select {
	case port := <-heard:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.address = "127.0.0.1:" + port
		if d.over {
			p.kill()
			return "", fence.ErrCut
		}
		return d.address, nil
	case <-p.ended:
		err = errEnded
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = errors.New("it does not listen")
	}
	p.kill()
	<-p.ended
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = nil
	return "", fmt.Errorf("starting chromedriver: %w", err)
}

// launch starts the program unless the driver is over, so that whoever ends it sees the process.
func (d *driver) launch(cmd *exec.Cmd) (*process, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil, fence.ErrCut
	}
	p, err := launch(cmd)
	d.running, d.address = p, ""
	return p, err
}

var listening = regexp.MustCompile(`started successfully on port (\d+)`)

// listen reads what p writes until it has ended, and tells the port on which it says that it listens.
func listen(out *os.File, p *process) <-chan string {
	heard := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				heard <- m[1]
				break
			}
		}
		_, _ = io.Copy(io.Discard, out) // what else it says is of no use to anybody
	}()
	go func() {
		<-p.ended
		out.Close() // browsers may have it open still
	}()
	return heard
}

// probe asks the driver whether it listens. One that does not run can be started.
func (d *driver) probe(ctx context.Context) error {
	p, address := d.now()
	if p == nil || over(p.ended) || address == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/status", nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err == nil {
		return response.Body.Close()
	}
	select {
	case <-p.ended: // while it was asked
		return nil
	case <-time.After(endTime / 10):
	}
	return fmt.Errorf("asking chromedriver: %w", err)
}

// kill ends the driver and all browsers of its group, now and for good. It does not wait.
func (d *driver) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.running != nil {
		d.running.kill()
	}
}

// close ends the driver and waits for its end.
func (d *driver) close(ctx context.Context) error {
	d.kill()
	p, _ := d.now()
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end of chromedriver: %w", ctx.Err())
	}
}

func over(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	default:
		return false
	}
}
