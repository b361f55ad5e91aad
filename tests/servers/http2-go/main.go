// HTTP/1.1 and HTTP/2 by Go's standard library, in clear text or, with two arguments (certificate,
// key), over TLS. It prints its port, answers until its standard input ends, and then prints the
// number of requests it answered.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

func main() {
	var answered, two atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.ProtoMajor == 2 {
			two.Add(1)
		}
		// /bytes/N answers with N bytes, /trailer with a trailer, /early with an interim response first.
		switch name, rest, _ := strings.Cut(r.URL.Path[1:], "/"); name {
		case "bytes":
			n, _ := strconv.Atoi(rest)
			io.CopyN(w, zeros{}, int64(n))
		case "trailer":
			w.Header().Set("Trailer", "X-Sum")
			io.WriteString(w, "hello")
			w.Header().Set("X-Sum", "1")
		case "early":
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			io.WriteString(w, "hello")
		case "abort":
			if answered.Add(1)%10 == 0 {
				panic(http.ErrAbortHandler)
			}
			answered.Add(-1)
			io.WriteString(w, "hello")
		default:
			io.WriteString(w, "hello")
		}
		answered.Add(1)
	})
	server := &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		if len(os.Args) == 3 {
			log.Fatal(server.ServeTLS(listener, os.Args[1], os.Args[2]))
		}
		log.Fatal(server.Serve(listener))
	}()
	io.Copy(io.Discard, os.Stdin)
	fmt.Println(answered.Load(), two.Load())
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
