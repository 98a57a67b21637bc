package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// saveArtifacts writes the files of one attempt below dir. One that cannot be written keeps none of the others from being
// written.
func saveArtifacts(cmd *cobra.Command, c *client.Client, task, dir string, list []v1.Artifact, out format) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	defer root.Close()
	s := &saver{client: c, task: task, root: root}
	var failed []error
	for i, a := range list {
		note(cmd, "%d of %d: %s, %s", i+1, len(list), a.Name, size(a.Bytes))
		err := s.save(cmd.Context(), a)
		if _, ours := errors.AsType[*unsaved](err); err != nil && !ours {
			return errors.Join(append(failed, err)...) // the server does not answer, or refuses: so it would for the next
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if out == formatTable {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), clean(filepath.Join(dir, filepath.FromSlash(a.Name)))); err != nil {
				return err
			}
		}
	}
	return errors.Join(failed...)
}

// saver writes artifacts below root and nowhere else: a name that leads out of it, by itself or by a link, is refused.
type saver struct {
	client *client.Client
	task   string
	root   *os.Root
}

// unsaved tells why one file could not be written.
type unsaved struct {
	name string
	err  error
}

func (e *unsaved) Error() string { return fmt.Sprintf("%s is not saved: %v", e.name, e.err) }

func (e *unsaved) Unwrap() error { return e.err }

var errDiffers = errors.New("there is another file of this name, which is not overwritten")

func (s *saver) save(ctx context.Context, a v1.Artifact) error {
	name := filepath.FromSlash(a.Name)
	if !filepath.IsLocal(name) {
		return &unsaved{a.Name, errors.New("its name leads out of the directory")}
	}
	switch same, err := s.has(name, a); {
	case err != nil:
		return &unsaved{a.Name, err}
	case same:
		return nil
	}
	if err := s.root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return &unsaved{a.Name, err}
	}
	part := filepath.Join(filepath.Dir(name), ".phonebooth-"+rand.Text()+".part")
	if err := s.fetch(ctx, part, a); err != nil {
		return errors.Join(err, missing(s.root.Remove(part)))
	}
	if _, err := s.root.Lstat(name); err == nil { // it came meanwhile
		return errors.Join(&unsaved{a.Name, errDiffers}, s.root.Remove(part))
	}
	if err := s.root.Rename(part, name); err != nil {
		return errors.Join(&unsaved{a.Name, err}, s.root.Remove(part))
	}
	return nil
}

// missing is err, unless it says that there is no such file.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// has tells whether the file is there already; another one of the name is an error.
func (s *saver) has(name string, a v1.Artifact) (bool, error) {
	info, err := s.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() || info.Size() != a.Bytes {
		return false, errDiffers
	}
	f, err := s.root.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return false, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != a.SHA256 {
		return false, errDiffers
	}
	return true, nil
}

// fetch writes the whole artifact to the file, which is not there yet.
func (s *saver) fetch(ctx context.Context, name string, a v1.Artifact) error {
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return &unsaved{a.Name, err}
	}
	defer f.Close()
	body, err := s.client.Artifact(ctx, s.task, a.Attempt, a.Name)
	if err != nil {
		return err
	}
	defer body.Close()
	from := &source{r: body}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), from)
	switch {
	case from.err != nil:
		return broke(a.Name, from.err)
	case err != nil:
		return &unsaved{a.Name, err}
	case hex.EncodeToString(sum.Sum(nil)) != a.SHA256: // replaced after it was listed, most likely
		return &unsaved{a.Name, errors.New("it has changed meanwhile; try again")}
	}
	if err := f.Close(); err != nil {
		return &unsaved{a.Name, err}
	}
	return nil
}

// source remembers whether it was the reader that failed.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
