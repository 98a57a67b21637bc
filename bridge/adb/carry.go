package adb

import (
	"io"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

const (
	chunk = 128 << 10
	// lastWords is how long a client may go on sending after its service has ended.
	lastWords = time.Second
)

// carry passes bytes between a client and a service until one of them ends.
//
// A client that says no more goes on hearing. When the service has ended, its client hears all of it, and what the client
// still sends is thrown away for a while: closing at once would make the system drop what the client has not read.
func (g *gate) carry(client, service *fence.Line) {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if _, err := io.CopyBuffer(service, client, make([]byte, chunk)); err == nil {
			service.CloseWrite()
			return
		}
		_, _ = io.Copy(io.Discard, client) // until its end, or lastWords
	}()
	_, err := io.CopyBuffer(client, service, make([]byte, chunk))
	if err == nil {
		client.CloseWrite()
		_ = client.SetReadDeadline(time.Now().Add(lastWords)) // it is closed already
	} else {
		client.Abort()
	}
	service.Close()
	<-sent
	client.Close()
}
