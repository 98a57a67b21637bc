package server_test

import (
	"flag"
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// These tests wait for leases to run out more than they compute, so many run side by side.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	postgrestest.Main(m)
}
