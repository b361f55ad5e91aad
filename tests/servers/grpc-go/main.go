// A grpc-go server for the end-to-end tests: the four kinds of methods of brunt.Target, health
// checks and reflection.
//
// It listens on a port chosen by the kernel and prints it. When its standard input ends, it prints
// its counts as JSON and exits. There is no generated code: messages are dynamic, described by
// target.proto as descriptors.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// The contents of target.proto in two files, so that reflection returns an import.
const payloadFile = `
name: "brunt/payload.proto" package: "brunt" syntax: "proto3"
message_type { name: "Payload"
  field { name: "text" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "text" }
  field { name: "count" number: 2 type: TYPE_UINT32 label: LABEL_OPTIONAL json_name: "count" } }
message_type { name: "Summary"
  field { name: "messages" number: 1 type: TYPE_UINT32 label: LABEL_OPTIONAL json_name: "messages" }
  field { name: "bytes" number: 2 type: TYPE_UINT64 label: LABEL_OPTIONAL json_name: "bytes" } }`

const targetFile = `
name: "brunt/target.proto" package: "brunt" syntax: "proto3" dependency: "brunt/payload.proto"
service { name: "Target"
  method { name: "Unary" input_type: ".brunt.Payload" output_type: ".brunt.Payload" }
  method { name: "ClientStream" input_type: ".brunt.Payload" output_type: ".brunt.Summary" client_streaming: true }
  method { name: "ServerStream" input_type: ".brunt.Payload" output_type: ".brunt.Payload" server_streaming: true }
  method { name: "Bidi" input_type: ".brunt.Payload" output_type: ".brunt.Payload" client_streaming: true server_streaming: true } }`

type counts struct {
	Unary, ClientStream, ServerStream, Bidi, Heard, Said, Deadlines, Metadata atomic.Int64
}

func (c *counts) print() {
	all := map[string]int64{
		"unary": c.Unary.Load(), "client_stream": c.ClientStream.Load(), "server_stream": c.ServerStream.Load(),
		"bidi": c.Bidi.Load(), "heard": c.Heard.Load(), "said": c.Said.Load(), "deadlines": c.Deadlines.Load(),
		"metadata": c.Metadata.Load(),
	}
	json.NewEncoder(os.Stdout).Encode(all)
}

var (
	counted          counts
	payload, summary protoreflect.MessageDescriptor
)

func describe(text string) protoreflect.FileDescriptor {
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(text), &file); err != nil {
		log.Fatal(err)
	}
	made, err := protodesc.NewFile(&file, protoregistry.GlobalFiles)
	if err != nil {
		log.Fatal(err)
	}
	if err := protoregistry.GlobalFiles.RegisterFile(made); err != nil {
		log.Fatal(err)
	}
	return made
}

func get(m *dynamicpb.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}

// Obeys the text of a message: "status 5 words" fails with this status, "sleep 50ms" waits.
func obey(ctx context.Context, m *dynamicpb.Message) error {
	counted.Heard.Add(1)
	words := strings.SplitN(get(m, "text").String(), " ", 3)
	switch {
	case words[0] == "status" && len(words) == 3:
		number, _ := strconv.Atoi(words[1])
		return status.Error(codes.Code(number), words[2])
	case words[0] == "sleep" && len(words) > 1:
		long, _ := time.ParseDuration(words[1])
		select {
		case <-time.After(long):
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	return nil
}

func begin(ctx context.Context, calls *atomic.Int64) {
	calls.Add(1)
	if _, ok := ctx.Deadline(); ok {
		counted.Deadlines.Add(1)
	}
	if given, _ := metadata.FromIncomingContext(ctx); len(given.Get("x-brunt")) > 0 && len(given.Get("trace-bin")) > 0 &&
		given.Get("trace-bin")[0] == "\x00\x01\x02" {
		counted.Metadata.Add(1)
	}
}

func unary(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	begin(ctx, &counted.Unary)
	message := dynamicpb.NewMessage(payload)
	if err := decode(message); err != nil {
		return nil, err
	}
	// The name of the server in a header, and the cost of the call, the length of its text, in a
	// trailer.
	grpc.SetHeader(ctx, metadata.Pairs("x-served-by", "grpc-go"))
	grpc.SetTrailer(ctx, metadata.Pairs("x-cost", strconv.Itoa(len(get(message, "text").String()))))
	if err := obey(ctx, message); err != nil {
		return nil, err
	}
	counted.Said.Add(1)
	return message, nil
}

func clientStream(_ any, stream grpc.ServerStream) error {
	begin(stream.Context(), &counted.ClientStream)
	answer := dynamicpb.NewMessage(summary)
	messages, bytes := uint32(0), uint64(0)
	for {
		message := dynamicpb.NewMessage(payload)
		if err := stream.RecvMsg(message); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if err := obey(stream.Context(), message); err != nil {
			return err
		}
		messages, bytes = messages+1, bytes+uint64(proto.Size(message))
	}
	answer.Set(summary.Fields().ByName("messages"), protoreflect.ValueOfUint32(messages))
	answer.Set(summary.Fields().ByName("bytes"), protoreflect.ValueOfUint64(bytes))
	counted.Said.Add(1)
	return stream.SendMsg(answer)
}

func serverStream(_ any, stream grpc.ServerStream) error {
	begin(stream.Context(), &counted.ServerStream)
	message := dynamicpb.NewMessage(payload)
	if err := stream.RecvMsg(message); err != nil {
		return err
	}
	if err := obey(stream.Context(), message); err != nil {
		return err
	}
	for range max(1, get(message, "count").Uint()) {
		if err := stream.SendMsg(message); err != nil {
			return err
		}
		counted.Said.Add(1)
	}
	return nil
}

func bidi(_ any, stream grpc.ServerStream) error {
	begin(stream.Context(), &counted.Bidi)
	for {
		message := dynamicpb.NewMessage(payload)
		if err := stream.RecvMsg(message); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := obey(stream.Context(), message); err != nil {
			return err
		}
		if err := stream.SendMsg(message); err != nil {
			return err
		}
		counted.Said.Add(1)
	}
}

func main() {
	cert := flag.String("cert", "", "certificate chain (PEM): speak TLS")
	key := flag.String("key", "", "its private key")
	reflects := flag.Bool("reflection", true, "answer to reflection")
	port := flag.Int("port", 0, "port to listen at; 0: any")
	streams := flag.Uint("streams", 0, "most streams of a connection; 0: grpc-go's own choice")
	flag.Parse()
	payloads := describe(payloadFile)
	describe(targetFile)
	payload, summary = payloads.Messages().ByName("Payload"), payloads.Messages().ByName("Summary")

	var options []grpc.ServerOption
	if *streams > 0 {
		options = append(options, grpc.MaxConcurrentStreams(uint32(*streams)))
	}
	if *cert != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "brunt.Target",
		Methods:     []grpc.MethodDesc{{MethodName: "Unary", Handler: unary}},
		Streams: []grpc.StreamDesc{
			{StreamName: "ClientStream", Handler: clientStream, ClientStreams: true},
			{StreamName: "ServerStream", Handler: serverStream, ServerStreams: true},
			{StreamName: "Bidi", Handler: bidi, ClientStreams: true, ServerStreams: true},
		},
		Metadata: "brunt/target.proto",
	}, nil)
	healthpb.RegisterHealthServer(server, health.NewServer())
	if *reflects {
		reflection.Register(server)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go server.Serve(listener)
	io.Copy(io.Discard, os.Stdin)
	server.Stop()
	counted.print()
}
