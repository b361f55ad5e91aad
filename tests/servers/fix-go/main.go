// A FIX 4.4 acceptor (quickfix), whose counts verify those of the tests.
//
// It prints its port, serves until its input ends, and then prints its counts as JSON. Its CompID
// is YOU. It answers each NewOrderSingle with an ExecutionReport, and sends TestRequests to silent
// clients. The library checks sequence numbers, lengths, checksums and sending times, and rejects
// wrong ones. Only heartbeats that answer a TestRequest are counted.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quickfixgo/quickfix"
)

const (
	msgType   = quickfix.Tag(35)
	clOrdID   = quickfix.Tag(11)
	testReqID = quickfix.Tag(112)
)

var logons, orders, answered, refused, asked atomic.Int64

type acceptor struct{}

func (acceptor) OnCreate(quickfix.SessionID) {}
func (acceptor) OnLogon(quickfix.SessionID)  { logons.Add(1) }
func (acceptor) OnLogout(quickfix.SessionID) {}

func (acceptor) ToApp(*quickfix.Message, quickfix.SessionID) error { return nil }

func (acceptor) ToAdmin(message *quickfix.Message, _ quickfix.SessionID) {
	switch kind(message) {
	case "1":
		asked.Add(1)
	case "3", "5":
		refused.Add(1)
	}
}

func (acceptor) FromAdmin(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	if kind(message) == "0" && message.Body.Has(testReqID) {
		answered.Add(1)
	}
	return nil
}

func (acceptor) FromApp(message *quickfix.Message, session quickfix.SessionID) quickfix.MessageRejectError {
	id, err := message.Body.GetString(clOrdID)
	if err != nil || kind(message) != "D" {
		return quickfix.UnsupportedMessageType()
	}
	orders.Add(1)
	report := quickfix.NewMessage()
	report.Header.SetString(msgType, "8")
	report.Body.SetString(clOrdID, id)
	// Fails only if the session is gone.
	_ = quickfix.SendToTarget(report, session)
	return nil
}

func kind(message *quickfix.Message) string {
	kind, err := message.Header.GetString(msgType)
	if err != nil {
		return ""
	}
	return kind
}

// Returns a free port.
func free() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func main() {
	port := free()
	// Every connection is its own session, whatever its CompID. At least one session must be declared.
	text := fmt.Sprintf("[DEFAULT]\nSocketAcceptHost=127.0.0.1\nSocketAcceptPort=%d\nBeginString=FIX.4.4\nSenderCompID=YOU\n"+
		"DynamicSessions=Y\nDynamicQualifier=Y\n[SESSION]\nTargetCompID=NOBODY\n", port)
	settings, err := quickfix.ParseSettings(strings.NewReader(text))
	if err != nil {
		panic(err)
	}
	server, err := quickfix.NewAcceptor(acceptor{}, quickfix.NewMemoryStoreFactory(), settings, quickfix.NewNullLogFactory())
	if err != nil {
		panic(err)
	}
	if err := server.Start(); err != nil {
		panic(err)
	}
	fmt.Println(port)
	_, _ = io.Copy(io.Discard, os.Stdin)
	// Messages sent before the run ended may not have arrived yet.
	time.Sleep(200 * time.Millisecond)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]int64{
		"logons": logons.Load(), "orders": orders.Load(), "refused": refused.Load(),
		"asked": asked.Load(), "answered": answered.Load(),
	})
}
