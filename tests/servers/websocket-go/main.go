// A WebSocket server (gorilla/websocket), whose counts verify those of the tests.
//
// It prints its port, serves until its input ends, and then prints its counts as JSON. Paths: /echo
// answers each message, /late answers after up to 20 ms and therefore out of order, /sink answers
// nothing, /push sends three messages first, /leave closes with 1013 after ten messages, /refuse
// answers 403.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

var connections, messages, bytes, pings, compressed, normal atomic.Int64

var upgrader = websocket.Upgrader{
	EnableCompression: true,
	Subprotocols:      []string{"v2"},
	CheckOrigin:       func(*http.Request) bool { return true },
}

func serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/refuse" {
		http.Error(w, "not here", http.StatusForbidden)
		return
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	connections.Add(1)
	if r.Header.Get("Sec-WebSocket-Extensions") != "" {
		compressed.Add(1)
	}
	var lock sync.Mutex
	send := func(kind int, text []byte) {
		lock.Lock()
		defer lock.Unlock()
		conn.WriteMessage(kind, text)
	}
	answerPing := conn.PingHandler()
	conn.SetPingHandler(func(text string) error {
		pings.Add(1)
		return answerPing(text)
	})
	if r.URL.Path == "/push" {
		for i := 0; i < 3; i++ {
			send(websocket.TextMessage, []byte(`{"news":true}`))
		}
	}
	for had := 1; ; had++ {
		kind, text, err := conn.ReadMessage()
		if err != nil {
			if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				normal.Add(1)
			}
			return
		}
		messages.Add(1)
		bytes.Add(int64(len(text)))
		switch r.URL.Path {
		case "/sink":
		case "/late":
			time.AfterFunc(time.Duration(rand.Intn(20))*time.Millisecond, func() { send(kind, text) })
		default:
			send(kind, text)
		}
		if r.URL.Path == "/leave" && had == 10 {
			farewell := websocket.FormatCloseMessage(websocket.CloseTryAgainLater, "busy")
			conn.WriteControl(websocket.CloseMessage, farewell, time.Now().Add(time.Second))
			conn.ReadMessage()
			return
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: http.HandlerFunc(serve)}
	if len(os.Args) == 3 {
		go server.ServeTLS(listener, os.Args[1], os.Args[2])
	} else {
		go server.Serve(listener)
	}
	io.Copy(io.Discard, os.Stdin)
	// Messages sent before the run ended may not have reached the handlers yet.
	time.Sleep(200 * time.Millisecond)
	json.NewEncoder(os.Stdout).Encode(map[string]int64{
		"connections": connections.Load(), "messages": messages.Load(), "bytes": bytes.Load(),
		"pings": pings.Load(), "compressed": compressed.Load(), "normal": normal.Load(),
	})
}
