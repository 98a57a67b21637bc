// Package webui is the dashboard: the page that a browser shows of the pool, its assets, and the sign-in.
//
//	ui := webui.New(signIns, webui.Options{})
//	for _, pattern := range ui.Patterns() {
//		mux.Handle(pattern, ui)
//	}
//
// The page is one shell for every address of the dashboard; what it shows it asks of the HTTP API, like any other client,
// known by a cookie. Its scripts and styles are in the directory assets, as the browser gets them: ES modules without a
// build step and without anything from elsewhere. Their addresses hold a hash of all of them, so browsers keep them for
// ever, and a page never mixes two versions.
//
// It reads no store and decides nothing; package auth tells who may sign in. A UI may be used by any number of goroutines.
package webui
