package simdevice

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// builtins are the commands of the phone: words in, exit code out.
var builtins = map[string]func(context.Context, *shell, []string) int{
	"true":      nothing,
	"false":     func(context.Context, *shell, []string) int { return 1 },
	"echo":      echo,
	"cat":       cat,
	"sleep":     sleep,
	"id":        id,
	"getprop":   getprop,
	"setprop":   setprop,
	"settings":  settings,
	"dumpsys":   dumpsys,
	"input":     nothing,
	"am":        am,
	"pm":        pm,
	"cmd":       cmd,
	"rm":        rm,
	"logcat":    logcat,
	"export":    nothing,
	"wm":        nothing,
	"screencap": screencap,
	"svc":       nothing,
	"monkey":    nothing,
	"log":       writeLog,

	"ps":           ps,
	"kill":         kill,
	"df":           df,
	"ime":          ime,
	"screenrecord": screenrecord,
	"uiautomator":  nothing,
}

func nothing(context.Context, *shell, []string) int { return 0 }

func echo(_ context.Context, sh *shell, args []string) int {
	end := "\n"
	if len(args) > 0 && args[0] == "-n" {
		args, end = args[1:], ""
	}
	sh.print("%s%s", strings.Join(args, " "), end)
	return 0
}

// cat prints files, or copies its standard input.
func cat(_ context.Context, sh *shell, args []string) int {
	if len(args) == 0 {
		if _, err := io.Copy(sh.stdout, sh.stdin); err != nil {
			return 1
		}
		return 0
	}
	code := 0
	for _, name := range args {
		content, ok := sh.phone.File(name)
		switch {
		case ok:
			sh.print("%s", content)
		case name != "/dev/null":
			sh.complain("cat: %s: No such file or directory", name)
			code = 1
		}
	}
	return code
}

func sleep(ctx context.Context, sh *shell, args []string) int {
	if len(args) != 1 {
		sh.complain("sleep: wants one number of seconds")
		return codeUsage
	}
	d, err := time.ParseDuration(args[0] + "s")
	if err != nil || d < 0 {
		sh.complain("sleep: %q is not a number of seconds", args[0])
		return codeUsage
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return 0
}

func id(_ context.Context, sh *shell, _ []string) int {
	sh.print("uid=2000(shell) gid=2000(shell) groups=2000(shell),1004(input),3003(inet) context=u:r:shell:s0\n")
	return 0
}

func getprop(_ context.Context, sh *shell, args []string) int {
	sh.phone.mu.Lock()
	properties := maps.Clone(sh.phone.properties)
	sh.phone.mu.Unlock()
	if len(args) == 0 {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			sh.print("[%s]: [%s]\n", name, properties[name])
		}
		return 0
	}
	value := properties[args[0]]
	if value == "" && len(args) > 1 {
		value = args[1]
	}
	sh.print("%s\n", value)
	return 0
}

func setprop(_ context.Context, sh *shell, args []string) int {
	if len(args) != 2 || strings.HasPrefix(args[0], "ro.") {
		sh.complain("setprop: wants a name that may be written, and a value")
		return codeUsage
	}
	sh.phone.SetProperty(args[0], args[1])
	return 0
}

func settings(_ context.Context, sh *shell, args []string) int {
	wants := map[string]int{"get": 3, "put": 4, "delete": 3}
	if len(args) == 0 || wants[args[0]] != len(args) || !slices.Contains([]string{"system", "secure", "global"}, args[1]) {
		sh.complain("settings: wants get, put or delete, then system, secure or global, a name, and a value to put")
		return codeUsage
	}
	key := args[1] + "/" + args[2]
	sh.phone.mu.Lock()
	value, ok := sh.phone.settings[key]
	switch args[0] {
	case "put":
		sh.phone.settings[key] = args[3]
	case "delete":
		delete(sh.phone.settings, key)
	}
	sh.phone.mu.Unlock()
	switch {
	case args[0] == "get" && ok:
		sh.print("%s\n", value)
	case args[0] == "get":
		sh.print("null\n")
	}
	return 0
}
