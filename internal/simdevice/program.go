package simdevice

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
)

// installedPackage is where the last package that was installed lies.
const installedPackage = "/data/app/base.apk"

// cmd knows the installer alone: the package comes in on the standard input, and its size is told before.
func cmd(_ context.Context, sh *shell, args []string) int {
	if len(args) < 2 || args[0] != "package" || args[1] != "install" {
		sh.complain("cmd: this phone has the service package only, which installs")
		return codeUsage
	}
	at := slices.Index(args, "-S")
	if at < 0 || at+1 == len(args) {
		sh.complain("cmd: package install wants -S and a size")
		return codeUsage
	}
	size, err := strconv.ParseInt(args[at+1], 10, 32)
	if err != nil || size < 0 {
		sh.complain("cmd: %q is no size", args[at+1])
		return codeUsage
	}
	content, err := io.ReadAll(io.LimitReader(sh.stdin, size))
	if err != nil || int64(len(content)) != size {
		sh.print("Failure [INSTALL_FAILED_INVALID_APK: %d bytes of %d came]\n", len(content), size)
		return codeUsage
	}
	sh.phone.store(installedPackage, file{content: content, mode: modeFile | 0o644})
	sh.print("Success\n")
	return 0
}

// pm lists the one instrumentation, and installs a package that was pushed before; everything else it does without a word.
func pm(_ context.Context, sh *shell, args []string) int {
	switch {
	case slices.Equal(args, []string{"list", "instrumentation"}):
		own, _, _ := strings.Cut(TestComponent, "/")
		sh.print("instrumentation:%s (target=%s)\n", TestComponent, strings.TrimSuffix(own, ".test"))
		return 0
	case len(args) < 2 || args[0] != "install":
		return 0
	}
	f, err := sh.phone.look(args[len(args)-1])
	if err != nil {
		sh.print("Failure [INSTALL_FAILED_INVALID_URI]\n")
		return codeUsage
	}
	sh.phone.store(installedPackage, f)
	sh.print("Success\n")
	return 0
}

// rm knows files, no directories, and "-f" for those that are not there.
func rm(_ context.Context, sh *shell, args []string) int {
	force, code := false, 0
	for _, name := range args {
		switch {
		case name == "-f":
			force = true
		case !sh.phone.remove(name) && !force:
			sh.complain("rm: %s: No such file or directory", name)
			code = 1
		}
	}
	return code
}

// writeLog is the command log.
func writeLog(_ context.Context, sh *shell, args []string) int {
	sh.phone.Log(strings.Join(args, " "))
	return 0
}

// Log adds a line to what logcat prints.
func (p *Phone) Log(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logged = append(p.logged, line)
	close(p.logMore)
	p.logMore = make(chan struct{})
}

// logcat prints the log and, without -d, goes on as it grows.
func logcat(ctx context.Context, sh *shell, args []string) int {
	for at := 0; ; {
		sh.phone.mu.Lock()
		lines, more := sh.phone.logged[at:], sh.phone.logMore
		sh.phone.mu.Unlock()
		for _, line := range lines {
			sh.print("%s\n", line)
		}
		at += len(lines)
		if slices.Contains(args, "-d") {
			return 0
		}
		select {
		case <-more:
		case <-ctx.Done():
			return 0
		}
	}
}
