package sqlstore

import (
	"path/filepath"
	"testing"
)

func TestDialects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ common, sqlite, postgres string }{
		{"SELECT $2, $1, $10", "SELECT ?2, ?1, ?10", "SELECT $2, $1, $10"},
		{
			"WHERE h.id IN [EACH $1] ORDER BY h.id FOR UPDATE",
			"WHERE h.id IN (SELECT value FROM json_each(?1)) ORDER BY h.id",
			"WHERE h.id = ANY (ARRAY (SELECT unnest($1::text[]))) ORDER BY h.id FOR UPDATE",
		},
		{
			"x IN [EACH $1 UNION SELECT y FROM z WHERE z.q IN [EACH $2]]",
			"x IN (SELECT value FROM json_each(?1) UNION SELECT y FROM z WHERE z.q IN (SELECT value FROM json_each(?2)))",
			"x = ANY (ARRAY (SELECT unnest($1::text[]) UNION SELECT y FROM z WHERE z.q = ANY (ARRAY (SELECT unnest($2::text[])))))",
		},
		{"SELECT CLOCK", "SELECT 0", "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"},
		{"FIND(t.goal, $3) > 0", "instr(lower(t.goal), ?3) > 0", `strpos(lower(t.goal COLLATE "C"), $3) > 0`},
		{"FROM LABELS(t.labels) b", "FROM json_each(t.labels) b", "FROM json_each_text(t.labels::json) b"},
	} {
		for _, got := range []struct{ text, want string }{
			{newSQLite().text(c.common), c.sqlite}, {newPostgres().text(c.common), c.postgres},
		} {
			if got.text != got.want {
				t.Errorf("%s becomes\n\t%s, want\n\t%s", c.common, got.text, got.want)
			}
		}
	}
}

// TestSQLiteBindsArgumentsByNumber shows what the rewriting to ?n is for.
func TestSQLiteBindsArgumentsByNumber(t *testing.T) {
	t.Parallel()
	s := openFile(t)
	var first, second string
	err := s.engine.read(t.Context(), step{text: "SELECT $2, $1", args: []any{"one", "two"}, row: func(read scanner) error {
		return read(&first, &second)
	}})
	if err != nil || first != "two" || second != "one" {
		t.Errorf("$2, $1 of one, two gives %s, %s (%v)", first, second, err)
	}
}

func openFile(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "phonebooth.db"), Options{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}
