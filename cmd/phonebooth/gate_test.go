//go:build linux

package main_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// shellOn is a task whose goal is a script for the host's shell, with a device to itself.
func shellOn(device, script string) v1.TaskRequest {
	return v1.TaskRequest{Goal: script, Constraints: v1.Constraints{DeviceID: device, Runner: "shell"}}
}

// A runner that knows nothing of Phonebooth sees its own phone and no other, and what it does to "the adb server" it does to
// nobody else.
func TestC33_TwoRunnersAtOnceSeeTheirOwnPhoneOnly(t *testing.T) {
	t.Parallel()
	r := newBooth(t).rack(t, 2)
	for _, phone := range r.phones {
		phone.Listen("tcp:7000", func(conn io.ReadWriter) { _, _ = io.Copy(conn, conn) })
	}
	p := r.dev(t)
	r.attach(t)
	ids := map[string]string{}
	for _, d := range p.waitDevices(t, 2) {
		ids[d.Name] = d.ID
	}
	servers := r.servers()
	ended := r.path("ended")
	script := func(other, end string) string {
		return fmt.Sprintf(`echo "mine: $(adb shell getprop ro.serialno)"
echo "lines: $(adb devices | grep -c device$)"
adb -s %s shell true 2>&1 && echo "reached the other"
adb kill-server
echo "still mine: $(adb shell getprop ro.serialno)"
echo "port: $(adb forward tcp:0 tcp:7000)"
%s`, other, end)
	}
	wait := fmt.Sprintf("until test -e %s; do sleep 0.05; done; echo \"at the end: $(adb shell getprop ro.serialno)\"", ended)
	quiet := p.submit(t, shellOn(ids[r.serials[0]], script(r.serials[1], wait)))
	loud := p.submit(t, shellOn(ids[r.serials[1]], script(r.serials[0], "sleep 600")))
	said := func(id, what string) string {
		t.Helper()
		var log string
		eventually(t, what+" in the log", func() bool {
			log = p.run(t, "task", "log", id)
			return strings.Contains(log, what)
		})
		return log
	}
	_, port, _ := strings.Cut(said(loud, "port: "), "port: ")
	conn, err := net.Dial("tcp", "127.0.0.1:"+strings.TrimSpace(port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
		t.Fatalf("a connection that the runner forwarded: %v", err)
	}

	p.run(t, "task", "cancel", loud)
	p.waitStatus(t, loud, "cancelled")
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the forwarded connection reads %v after the cut, want it broken", err)
	}
	if err := os.WriteFile(ended, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.waitStatus(t, quiet, "done")
	for id, name := range map[string]string{quiet: "PHONE1", loud: "PHONE2"} {
		log := p.run(t, "task", "log", id)
		for _, want := range []string{"mine: " + name + "\n", "lines: 1\n", "not found\n", "still mine: " + name + "\n"} {
			if !strings.Contains(log, want) {
				t.Errorf("the log of %s lacks %q:\n%s", name, want, log)
			}
		}
		if strings.Contains(log, "reached the other") {
			t.Errorf("the runner of %s reached the other phone:\n%s", name, log)
		}
	}
	if now := r.servers(); len(servers) != 1 || len(now) != 1 || now[0].pid != servers[0].pid {
		t.Errorf("adb servers before and after kill-server: %v, %v; want the same one", servers, now)
	}
	if log := p.run(t, "task", "log", quiet); !strings.HasSuffix(log, "at the end: PHONE1\n") {
		t.Errorf("the log of the task that went on ends with %.200q", log)
	}
}
