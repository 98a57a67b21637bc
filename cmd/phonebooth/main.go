// Command phonebooth is the whole of Phonebooth: control plane, Host Agent and command line. See package cli.
package main

import (
	"os"

	"github.com/phonebooth-dev/phonebooth/cli"
)

func main() { os.Exit(cli.Main(cli.Options{})) }
