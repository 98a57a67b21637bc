// Package httpapi offers the use cases of package control over HTTP, one file a resource. It is the only package that knows
// the HTTP framework.
//
//	s := httpapi.New(control, tokens, httpapi.Options{Version: version})
//	ln, err := httpapi.Listen("127.0.0.1:8420", httpapi.ListenOptions{})
//	err = s.Serve(ctx, ln)
//
// What holds for every call:
//
//  1. A refusal is an RFC 9457 problem with a stable code, made by one function from a [phonebooth.Error]. It never echoes a
//     rejected value, a secret or the text of an inner error.
//  2. Who calls is settled before the body is read. The admin token opens everything but the agent calls; a host's token
//     opens the agent calls, which act for that host alone.
//  3. Bodies are valid UTF-8 without NUL and at most 1 MiB long. Fields and query parameters that are not known are refused,
//     except in agent calls, so that an older control plane can talk with a newer agent.
//  4. Every request has an id, the caller's or one of ours; it is in the answer's X-Request-Id, in the log, and in every
//     event that came of it. The log shows routes and never addresses, since an address may hold a lease id.
//
// It decides nothing about tasks, devices or leases. A Server may be used by any number of goroutines.
package httpapi
