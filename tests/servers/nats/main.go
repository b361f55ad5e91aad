// A NATS server with JetStream on a port chosen by the kernel, or the given one; ends with its standard input.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	port := -1
	if len(os.Args) > 2 {
		port, _ = strconv.Atoi(os.Args[2])
	}
	options := &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: os.Args[1], NoSigs: true, NoLog: true}
	nats, err := server.NewServer(options)
	if err != nil {
		panic(err)
	}
	go nats.Start()
	if !nats.ReadyForConnections(10 * time.Second) {
		panic("not ready")
	}
	fmt.Println(nats.ClientURL())
	io.Copy(io.Discard, os.Stdin)
}
