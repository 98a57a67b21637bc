package fence

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

// Conn is a connection that ends with its fence.
type Conn struct {
	net.Conn
	fence *Fence
}

// Conn takes a connection in. When the fence is cut already the error is ErrCut, and the caller has the connection still.
func (f *Fence) Conn(conn net.Conn) (*Conn, error) {
	c := &Conn{conn, f}
	return c, f.Hold(c)
}

// Close ends the connection; what was written still arrives.
func (c *Conn) Close() error {
	c.fence.Release(c)
	return c.Conn.Close()
}

// Abort ends the connection, and what has not left this machine's buffers is dropped.
func (c *Conn) Abort() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it is closed already
	}
	_ = c.Conn.Close() // it is closed already
}

// CloseWrite says that no more comes.
func (c *Conn) CloseWrite() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // it is closed already
	}
}

// Line is a Conn on which nothing is written that the lease may not.
type Line struct {
	*Conn
	raw syscall.RawConn
}

// Line takes a connection of the system's in. It is closed when the error is not nil.
func (f *Fence) Line(conn net.Conn) (*Line, error) {
	system, ok := conn.(syscall.Conn)
	if !ok {
		conn.Close()
		return nil, errors.ErrUnsupported
	}
	raw, err := system.SyscallConn()
	if err != nil {
		conn.Close()
		return nil, err
	}
	held, err := f.Conn(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &Line{held, raw}, nil
}

// Dial opens a [Line].
func (f *Fence) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l, err := f.Line(conn)
	if err != nil {
		return nil, err // not a *Line that is nil
	}
	return l, nil
}

// Write asks the lease before every single write of the system, also after it waited for room: whatever time passed in
// between, nothing goes out after the fence.
func (l *Line) Write(p []byte) (sent int, err error) {
	for sent < len(p) {
		n, err := l.write(p[sent:])
		sent += n
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func (l *Line) write(p []byte) (n int, err error) {
	waited := l.raw.Write(func(fd uintptr) bool {
		if err = l.fence.MayPass(); err != nil {
			return true
		}
		n, err = syscall.Write(int(fd), p)
		return !errors.Is(err, syscall.EAGAIN)
	})
	switch {
	case waited != nil:
		return 0, waited
	case errors.Is(err, syscall.EINTR):
		return 0, nil
	case err != nil:
		return 0, os.NewSyscallError("write", err)
	}
	return n, nil
}
