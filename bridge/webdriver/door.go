package webdriver

import (
	"net"

	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

// door is where clients come in.
type door struct {
	net.Listener
	lease *fence.Fence // whose cut ends its clients
	late  *fence.Fence // of those who come after that
}

// Accept takes the next client. A gate that was cut still takes some, to tell them so.
func (d door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if c, err := d.lease.Conn(conn); err == nil {
		return c, nil
	}
	if c, err := d.late.Conn(conn); err == nil {
		return c, nil
	}
	return conn, conn.Close() // the gate is being closed: the server finds that nothing comes
}
