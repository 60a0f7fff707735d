// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// pki names the key material of one cluster.
type pki struct {
	// caFile signs servingCertFile, which all servers of the cluster share.
	caFile, servingCertFile, servingKeyFile string
	// serviceAccountKeyFile signs service account tokens.
	serviceAccountKeyFile string
	// caPEM is the content of caFile.
	caPEM []byte
}

// newPKI makes keys and certificates. The API server could sign its own, but
// then no client could be configured before it runs.
func newPKI(dir string) (*pki, error) {
	p := &pki{
		caFile:                filepath.Join(dir, "ca.crt"),
		servingCertFile:       filepath.Join(dir, "serving.crt"),
		servingKeyFile:        filepath.Join(dir, "serving.key"),
		serviceAccountKeyFile: filepath.Join(dir, "service-account.key"),
	}
	if err := p.write(dir); err != nil {
		return nil, fmt.Errorf("making the cluster's certificates: %w", err)
	}
	return p, nil
}

func (p *pki) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	servingKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serviceAccountKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := certificate(1, "kubetaint-testbed-ca")
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return err
	}
	serving := certificate(2, "kubetaint-testbed")
	serving.KeyUsage = x509.KeyUsageDigitalSignature
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	serving.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	servingDER, err := x509.CreateCertificate(rand.Reader, serving, ca, servingKey.Public(), caKey)
	if err != nil {
		return err
	}
	p.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	return errors.Join(
		os.WriteFile(p.caFile, p.caPEM, 0o644),
		writePEM(p.servingCertFile, "CERTIFICATE", servingDER),
		writeKey(p.servingKeyFile, servingKey),
		writeKey(p.serviceAccountKeyFile, serviceAccountKey),
	)
}

// certificate is a template that is valid a while around now, because clocks of
// a host and its guests differ.
func certificate(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
