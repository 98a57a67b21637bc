package adb_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/adb"
)

func TestC27_AServerThatCannotBeReachedIsSaidOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	var said bytes.Buffer
	b, err := adb.New(adb.Options{Server: address, NoStart: true, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 700*time.Millisecond) // for some tries
	defer stop()
	_ = b.Watch(ctx, func([]bridge.Device) {})
	if got := said.String(); strings.Count(got, "not reachable;") != 1 || !strings.Contains(got, address) {
		t.Errorf("the log says\n%s\nwant one line that the server at %s is not reachable", got, address)
	}
}
