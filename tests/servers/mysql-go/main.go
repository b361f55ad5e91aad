// An independent MySQL server whose accounts use caching_sha2_password, which Debian's MariaDB does
// not offer.
//
// It prints its port, and when its input ends, its counts: logins, passwords sent in full, queries
// and executions. The password is "pass:word"; each SELECT returns one row, and DUPLICATE is an
// error.
package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/server"
)

var logins, full, queries, executions atomic.Int64

type accounts struct{ *server.InMemoryProvider }

// Called only if the hashed password is not sufficient for the login.
func (a accounts) GetCredential(name string) (string, bool, error) {
	full.Add(1)
	return a.InMemoryProvider.GetCredential(name)
}

type handler struct{ server.EmptyHandler }

func (handler) UseDB(string) error { return nil }

func answer(query string, binary bool) (*mysql.Result, error) {
	if strings.Contains(query, "DUPLICATE") {
		return nil, mysql.NewDefaultError(mysql.ER_DUP_ENTRY, "1", "PRIMARY")
	}
	if !strings.HasPrefix(query, "SELECT") {
		return mysql.NewResult(nil), nil
	}
	rows, err := mysql.BuildSimpleResultset([]string{"a", "b"}, [][]interface{}{{int64(7), "text"}}, binary)
	if err != nil {
		return nil, err
	}
	return mysql.NewResult(rows), nil
}

func (handler) HandleQuery(query string) (*mysql.Result, error) {
	queries.Add(1)
	return answer(query, false)
}

func (handler) HandleStmtPrepare(query string) (int, int, interface{}, error) {
	return strings.Count(query, "?"), 2, nil, nil
}

func (handler) HandleStmtExecute(_ interface{}, query string, _ []interface{}) (*mysql.Result, error) {
	executions.Add(1)
	return answer(query, true)
}

func certificate() (tls.Certificate, []byte) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	must(err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	pair, public := certificate()
	settings := &tls.Config{Certificates: []tls.Certificate{pair}}
	ours := server.NewServer("8.0.36", mysql.DEFAULT_COLLATION_ID, mysql.AUTH_CACHING_SHA2_PASSWORD, public, settings)
	known := accounts{server.NewInMemoryProvider()}
	known.AddUser("brunt", "pass:word")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		for {
			socket, err := listener.Accept()
			must(err)
			go func() {
				conn, err := server.NewCustomizedConn(socket, ours, known, handler{})
				if err != nil {
					socket.Close()
					return
				}
				logins.Add(1)
				for conn.HandleCommand() == nil {
				}
			}()
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println(logins.Load(), full.Load(), queries.Load(), executions.Load())
}
