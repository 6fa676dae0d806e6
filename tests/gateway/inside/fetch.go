// Writes the body of a URL to standard output; the proxy variables are honoured.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	io.Copy(os.Stdout, response.Body)
	if response.StatusCode != 200 {
		os.Exit(2)
	}
}
