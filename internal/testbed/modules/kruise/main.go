// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Command kruise runs the controllers of OpenKruise's CloneSets and DaemonSets as they are, and
// nothing else of it: its webhooks need a Service, which a control plane without nodes does not
// reach. What the webhooks fill in must be there, see pkg/webhook/cloneset/mutating of
// OpenKruise.
package main

import (
	"flag"
	"fmt"
	"os"

	appsv1alpha1 "github.com/openkruise/kruise/apis/apps/v1alpha1"
	appsv1beta1 "github.com/openkruise/kruise/apis/apps/v1beta1"
	policyv1alpha1 "github.com/openkruise/kruise/apis/policy/v1alpha1"
	extclient "github.com/openkruise/kruise/pkg/client"
	"github.com/openkruise/kruise/pkg/control/pubcontrol"
	"github.com/openkruise/kruise/pkg/controller/cloneset"
	"github.com/openkruise/kruise/pkg/controller/daemonset"
	"github.com/openkruise/kruise/pkg/features"
	utilclient "github.com/openkruise/kruise/pkg/util/client"
	"github.com/openkruise/kruise/pkg/util/controllerfinder"
	"github.com/openkruise/kruise/pkg/util/fieldindex"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	flag.Parse()
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig()))
	if err := run(); err != nil {
		klog.Flush()
		fmt.Fprintln(os.Stderr, "kruise:", err)
		os.Exit(1)
	}
}

// run runs the controllers on the cluster of --kubeconfig until it is stopped, in the order of
// OpenKruise's own main.go.
func run() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme, policyv1alpha1.AddToScheme} {
		for _, to := range []*runtime.Scheme{scheme, clientgoscheme.Scheme} {
			if err := add(to); err != nil {
				return err
			}
		}
	}
	features.SetDefaultFeatureGates()
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst = 1000, 2000
	if err := extclient.NewRegistry(cfg); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, NewCache: utilclient.NewCache})
	if err != nil {
		return err
	}
	if err := controllerfinder.InitControllerFinder(mgr); err != nil {
		return err
	}
	pubcontrol.InitPubControl(mgr.GetClient(), controllerfinder.Finder, mgr.GetEventRecorderFor("pub-controller"))
	if err := fieldindex.RegisterFieldIndexes(mgr.GetCache()); err != nil {
		return err
	}
	for _, add := range []func(manager.Manager) error{cloneset.Add, daemonset.Add} {
		if err := add(mgr); err != nil {
			return err
		}
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
