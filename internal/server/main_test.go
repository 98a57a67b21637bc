package server_test

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }
