// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errLocked reports that another process holds a lock.
var errLocked = errors.New("locked by another process")

// fileLock is an advisory lock that the kernel drops with the process, so that
// a killed process leaves nothing to clean up.
type fileLock struct{ file *os.File }

// tryLock takes the lock or returns errLocked immediately.
func tryLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening a lock file: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &fileLock{file: file}, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("locking %s: %w", path, err)
}

// waitLock takes the lock as soon as it is free. It polls, because a blocking
// flock could not be interrupted.
func waitLock(ctx context.Context, path string) (*fileLock, error) {
	for {
		lock, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// release gives the lock up. The file stays: removing it would let two
// processes hold locks on two files of one name.
func (l *fileLock) release() {
	_ = l.file.Close()
}
