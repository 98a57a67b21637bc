package httpapi_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/httpapi"
)

var update = flag.Bool("update", false, "write api/openapi.yaml instead of comparing with it")

// TestOpenAPIIsTheCommittedOne keeps the document and the code together: go test ./internal/httpapi -run OpenAPI -update.
func TestOpenAPIIsTheCommittedOne(t *testing.T) {
	t.Parallel()
	const path = "../../api/openapi.yaml"
	f := newScripted()
	got, err := httpapi.New(f, auth.New(f, adminToken), httpapi.Options{}).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("api/openapi.yaml is not what the code says; run make gen and look at the difference")
	}
}
