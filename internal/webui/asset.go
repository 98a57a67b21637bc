package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed assets
var files embed.FS

// assets are the embedded files. All style sheets go out as one, so that a view never shows without its own.
type assets struct {
	hash   string // of all of them
	byName map[string]*asset
	shell  *asset
}

const styles = "all.css"

// load reads the embedded files. They are part of the program: what is wrong with them is wrong at every start.
func load() *assets {
	a := &assets{byName: map[string]*asset{}}
	sum := sha256.New()
	var base, css bytes.Buffer
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "assets/")
		fmt.Fprintf(sum, "%s %d\n", name, len(content))
		sum.Write(content)
		switch {
		case name == "base.css": // the others build on it
			base.Write(content)
		case path.Ext(name) == ".css":
			css.Write(content)
		case name != "index.html":
			a.byName[name] = newAsset(name, content)
		}
		return nil
	})
	if err == nil {
		a.hash = hex.EncodeToString(sum.Sum(nil)[:8])
		a.byName[styles] = newAsset(styles, slices.Concat(base.Bytes(), css.Bytes()))
		a.shell, err = a.page(a.imports("app.js", "views/now.js"))
	}
	if err != nil {
		panic(fmt.Sprintf("the embedded dashboard: %v", err))
	}
	return a
}

var importLine = regexp.MustCompile(`(?m)^import .*'(\.[^']+)';$`)

// imports are modules and all that they import, each once.
func (a *assets) imports(roots ...string) []string {
	var found []string
	for len(roots) > 0 {
		name := roots[0]
		roots = roots[1:]
		if slices.Contains(found, name) || a.byName[name] == nil {
			continue
		}
		found = append(found, name)
		for _, m := range importLine.FindAllSubmatch(a.byName[name].plain, -1) {
			roots = append(roots, path.Join(path.Dir(name), string(m[1])))
		}
	}
	return found
}

// page makes the shell. The modules that the frame and the first view need are named in it, so that a browser asks for all of
// them at once.
func (a *assets) page(modules []string) (*asset, error) {
	t, err := template.ParseFS(files, "assets/index.html")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, struct {
		Base    string
		Modules []string
	}{"/assets/" + a.hash, modules})
	return newAsset("index.html", out.Bytes()), err
}

// serve answers /assets/{hash}/{name}. Another hash is another version's: a page of that loads itself anew.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	found := a.byName[r.PathValue("name")]
	if found == nil || r.PathValue("hash") != a.hash {
		http.Error(w, "there is no such asset in this version", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	found.write(w, r, http.StatusOK)
}

// asset is one file as it goes out.
type asset struct {
	contentType string
	plain       []byte
	packed      func() []byte // gzip; made when it is first asked for
}

// contentTypes are those of the endings that there are: the machine's own table may say something else.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

func newAsset(name string, content []byte) *asset {
	kind, ok := contentTypes[path.Ext(name)]
	if !ok {
		panic("the embedded dashboard has a file of an unknown type: " + name)
	}
	return &asset{contentType: kind, plain: content, packed: sync.OnceValue(func() []byte {
		var out bytes.Buffer
		z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
		_, _ = z.Write(content) // to memory
		_ = z.Close()
		return out.Bytes()
	})}
}

func (a *asset) write(w http.ResponseWriter, r *http.Request, status int) {
	body := a.plain
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body = a.packed()
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // to a browser that may be gone
	}
}
