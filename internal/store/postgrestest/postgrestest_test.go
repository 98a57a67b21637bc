package postgrestest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func exec1(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func count(t *testing.T, conn *pgx.Conn, sql string) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func TestEachTestHasAnEmptySchemaOfItsOwn(t *testing.T) {
	t.Parallel()
	one, other := connect(t, postgrestest.DSN(t)), connect(t, postgrestest.DSN(t))
	exec1(t, one, "create table thing (id int)")
	exec1(t, other, "create table thing (id int)")
	exec1(t, one, "insert into thing values (1)")
	if got := count(t, other, "select count(*) from thing"); got != 0 {
		t.Errorf("the other schema has %d rows, want 0", got)
	}
}

func TestASchemaIsDroppedWithItsTest(t *testing.T) {
	t.Parallel()
	watch := connect(t, postgrestest.DSN(t))
	var schema string
	t.Run("inner", func(t *testing.T) {
		conn := connect(t, postgrestest.DSN(t))
		exec1(t, conn, "create table thing (id int)")
		if err := conn.QueryRow(t.Context(), "select current_schema()").Scan(&schema); err != nil {
			t.Fatal(err)
		}
	})
	if got := count(t, watch, "select count(*) from pg_namespace where nspname = '"+schema+"'"); got != 0 {
		t.Errorf("schema %s is still there after its test", schema)
	}
}

func TestStoppedServerRefusesAndComesBackWithItsData(t *testing.T) {
	t.Parallel()
	s := postgrestest.New(t, "max_connections=17")
	exec1(t, connect(t, s.DSN()), "create table thing as select 1 as id")
	if got := count(t, connect(t, s.DSN()), "select current_setting('max_connections')::int"); got != 17 {
		t.Errorf("max_connections = %d, want the setting of 17", got)
	}

	s.Stop()
	if _, err := pgx.Connect(t.Context(), s.DSN()); err == nil {
		t.Fatal("a stopped server still answers")
	}
	s.Stop() // twice is as once

	s.Restart()
	conn := connect(t, s.DSN())
	if got := count(t, conn, "select count(*) from thing"); got != 1 {
		t.Errorf("after Stop and Restart: %d rows, want 1", got)
	}
	exec1(t, conn, "insert into thing values (2)")

	s.Kill()
	if _, err := conn.Exec(t.Context(), "select 1"); err == nil {
		t.Error("a connection outlived its killed server")
	}
	s.Restart()
	if got := count(t, connect(t, s.DSN()), "select count(*) from thing"); got != 2 {
		t.Errorf("after Kill and Restart: %d rows, want 2: a commit was lost", got)
	}
}

// childEnv makes a re-executed test binary start a server and then wait to be killed.
const childEnv = "POSTGRESTEST_CHILD"

func TestServerEndsWithAKilledProcess(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		fmt.Println("dsn", postgrestest.New(t).DSN())
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	t.Parallel()
	postgrestest.DSN(t) // skips where there is no PostgreSQL
	child := exec.Command(os.Args[0], "-test.run=^TestServerEndsWithAKilledProcess$")
	child.Env = append(os.Environ(), childEnv+"=1")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	dsn := awaitDSN(t, out)
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(config.Host) })
	postmaster := readPID(t, filepath.Join(config.Host, "data", "postmaster.pid"))

	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for syscall.Kill(postmaster, 0) == nil {
		if time.Now().After(deadline) {
			t.Fatalf("server %d is alive 10 s after its test process was killed", postmaster)
		}
		<-time.After(10 * time.Millisecond)
	}
	if _, err := pgx.Connect(t.Context(), dsn); err == nil {
		t.Error("the server of a killed process still answers")
	}
}

func awaitDSN(t *testing.T, out io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if dsn, ok := strings.CutPrefix(lines.Text(), "dsn "); ok {
			return dsn
		}
	}
	t.Fatalf("the child named no server: %v", errors.Join(lines.Err(), io.EOF))
	return ""
}

func readPID(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	return pid
}
