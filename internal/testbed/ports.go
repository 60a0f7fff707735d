// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Ports are taken from below the ranges that kernels give to outgoing
// connections: else one could take the port of a component that is just being
// started again.
const (
	firstPort = 20000
	lastPort  = 29999
)

// port is a loopback port that no other test bed uses while it is held.
type port struct {
	number int
	lock   *fileLock
}

// reservePort picks a free port. Listening alone would not do: the component
// itself must listen, so the port is free again for a moment, and another test
// bed that starts in that moment would take it.
func reservePort(cache string) (*port, error) {
	dir := filepath.Join(cache, "ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("reserving a port: %w", err)
	}
	for range 200 {
		number := firstPort + rand.IntN(lastPort-firstPort+1)
		lock, err := tryLock(filepath.Join(dir, strconv.Itoa(number)+".lock"))
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if listener, err := net.Listen("tcp", address(number)); err == nil {
			_ = listener.Close()
			return &port{number: number, lock: lock}, nil
		}
		lock.release()
	}
	return nil, errors.New("reserving a port: found no free one on the loopback address")
}

func address(number int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(number))
}
