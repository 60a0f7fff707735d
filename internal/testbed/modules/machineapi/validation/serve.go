// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package validation

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/cloud"
)

const (
	// configuration is the name of the webhooks, as in OpenShift.
	configuration = "machine-api"
	// withdrawnImages is the ConfigMap whose keys are images that nothing boots any more,
	// as where a new version of OpenShift checks more. A test adds to it.
	withdrawnImages = "withdrawn-images"
)

// Serve answers the API server's questions until the context ends, at an address of this
// machine, and tells the API server of it. Without an answer, all is allowed: that is
// the failure policy of the original.
func Serve(ctx context.Context, c client.Client, scheme *runtime.Scheme) error {
	certificate, err := selfSigned()
	if err != nil {
		return fmt.Errorf("making the certificate of the webhooks: %w", err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}})
	if err != nil {
		return fmt.Errorf("listening for the webhooks: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/machines", admission.WithValidator(scheme, &validator[*machinev1beta1.Machine]{c, platform.machine}))
	mux.Handle("/machinesets", admission.WithValidator(scheme, &validator[*machinev1beta1.MachineSet]{c, platform.set}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); ctx.Err() == nil {
			klog.Errorf("serving the webhooks: %v", err)
		}
	}()
	return register(ctx, c, "https://"+listener.Addr().String(), certificate)
}

// register tells the API server of the webhooks, or of their new address.
func register(ctx context.Context, c client.Client, address string, certificate tls.Certificate) error {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	config.Name = configuration
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	_, err := controllerutil.CreateOrUpdate(ctx, c, config, func() error {
		config.Webhooks = []admissionregistrationv1.ValidatingWebhook{webhook("machine", address, ca), webhook("machineset", address, ca)}
		return nil
	})
	if err != nil {
		return fmt.Errorf("registering the webhooks: %w", err)
	}
	return nil
}

// webhook is what the API server is told of one (pkg/webhooks/config.go).
func webhook(kind, address string, ca []byte) admissionregistrationv1.ValidatingWebhook {
	resource := kind + "s"
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    "validation." + kind + ".machine.openshift.io",
		ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To(address + "/" + resource), CABundle: ca},
		AdmissionReviewVersions: []string{"v1"},
		FailurePolicy:           ptr.To(admissionregistrationv1.Ignore),
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{machinev1beta1.GroupName}, APIVersions: []string{machinev1beta1.GroupVersion.Version}, Resources: []string{resource},
			},
		}},
	}
}

// validator asks a rule about each object that is made or changed.
type validator[T runtime.Object] struct {
	client client.Reader
	rule   func(p platform, object, old T) ([]string, field.ErrorList)
}

// ValidateCreate validates an object that is made.
func (v *validator[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	var none T
	return v.validate(ctx, object, none)
}

// ValidateUpdate validates an object that is changed.
func (v *validator[T]) ValidateUpdate(ctx context.Context, old, object T) (admission.Warnings, error) {
	return v.validate(ctx, object, old)
}

// ValidateDelete is never asked for.
func (v *validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

func (v *validator[T]) validate(ctx context.Context, object, old T) (admission.Warnings, error) {
	images := &corev1.ConfigMap{}
	if err := v.client.Get(ctx, client.ObjectKey{Namespace: cloud.Namespace, Name: withdrawnImages}, images); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	warnings, errs := v.rule(platform{withdrawn: images.Data}, object, old)
	return warnings, errs.ToAggregate()
}

// selfSigned makes a certificate for this machine, which only the API server is to
// trust.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: configuration}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
