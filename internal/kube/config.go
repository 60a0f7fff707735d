// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Config is how to reach a cluster: the provider block after the environment
// has filled in what it leaves out.
type Config struct {
	Paths           []string
	Context         string
	ContextCluster  string
	ContextAuthInfo string

	Host                 string
	Token                string
	Username             string
	Password             string
	ClientCertificate    string
	ClientKey            string
	ClusterCACertificate string
	TLSServerName        string
	ProxyURL             string
	Insecure             bool
	Exec                 *Exec
	// Empty is an attribute that the block or the environment has with an empty value, "" for none.
	Empty string

	UserAgent string

	// Transport takes the place of the network; tests set it.
	Transport http.RoundTripper
	// Reading is how pods are read for a change of nodes; tests set it.
	Reading Reading
}

// Exec is a command that prints credentials, such as a cloud's login helper.
type Exec struct {
	APIVersion string
	Command    string
	Args       []string
	Env        map[string]string
}

// ConfigError is a mistake in the configuration, at one attribute.
type ConfigError struct {
	// Attribute is the name in the provider block, "" where no single one is to
	// blame.
	Attribute string
	Message   string
}

// Error returns the message.
func (e *ConfigError) Error() string {
	return e.Message
}

const (
	// dialTimeout bounds how long a plan waits for a cluster out of reach.
	dialTimeout = 10 * time.Second
	// qps is far above what a run needs: the API server's own priority and
	// fairness is the limit, not the client.
	qps, burst = 1000, 2000

	protobuf = "application/vnd.kubernetes.protobuf"
)

// proxySchemes are those that net/http knows.
var proxySchemes = []string{"http", "https", "socks5"}

// rest builds the client configuration. Only what the configuration names is
// read: neither KUBECONFIG nor ~/.kube/config are, because a plan must not
// depend on which cluster a user last looked at.
func (c Config) rest() (*rest.Config, error) {
	cfg, err := c.load()
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = c.UserAgent
	cfg.Transport = c.Transport
	tune(cfg)
	return cfg, nil
}

// tune sets what is the same however a connection is configured.
func tune(cfg *rest.Config) {
	cfg.QPS, cfg.Burst = qps, burst
	cfg.Wrap(func(inner http.RoundTripper) http.RoundTripper { return counting{noClientRetry{inner}} })
	cfg.ContentType = protobuf
	cfg.AcceptContentTypes = protobuf + ",application/json"
	if cfg.Dial == nil && cfg.Transport == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
}

func (c Config) load() (*rest.Config, error) {
	if len(c.Paths) == 0 && c.Host == "" {
		return c.ofThePod()
	}
	raw, err := c.kubeconfig()
	if err != nil {
		return nil, err
	}
	overrides, err := c.overrides()
	if err != nil {
		return nil, err
	}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*raw, c.Context, overrides, nil).ClientConfig()
	if err != nil {
		message := err.Error()
		for _, cluster := range raw.Clusters {
			// clientcmd quotes what it cannot read.
			for _, address := range []string{cluster.Server, cluster.ProxyURL} {
				message = strings.ReplaceAll(message, address, withoutUserinfo(address))
			}
		}
		for _, path := range filesNamed(raw) {
			if IsContent(path) {
				message = strings.ReplaceAll(message, path, Shown(path))
			}
		}
		return nil, &ConfigError{Attribute: c.source(), Message: "The connection is not complete: " + message}
	}
	return cfg, nil
}

// ofThePod returns the configuration of the pod that the provider runs in. A user who has said
// anything about a connection means another cluster than that of the pod.
func (c Config) ofThePod() (*rest.Config, error) {
	const instead = " Set one of the two. To use the service account of the pod that the provider runs in, set nothing about the connection. That includes environment variables."
	if attribute := c.set(); attribute != "" {
		return nil, &ConfigError{Attribute: attribute, Message: attribute + " is set, but neither host nor config_path names a cluster." + instead}
	}
	if c.Empty != "" {
		return nil, &ConfigError{Attribute: c.Empty, Message: c.Empty + " is empty, and neither host nor config_path names a cluster." + instead}
	}
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, &ConfigError{Message: "No cluster is configured: set config_path, or host with credentials, or run inside a cluster. KUBECONFIG and ~/.kube/config are not read by themselves."}
	}
	if err != nil {
		return nil, &ConfigError{Message: "The service account of this pod cannot be used: " + err.Error()}
	}
	return cfg, nil
}

// set returns the first attribute with a value, beside host and the paths; "" for none.
func (c Config) set() string {
	for _, a := range []struct {
		name string
		set  bool
	}{
		{"config_context", c.Context != ""},
		{"config_context_cluster", c.ContextCluster != ""},
		{"config_context_auth_info", c.ContextAuthInfo != ""},
		{"token", c.Token != ""},
		{"username", c.Username != ""},
		{"password", c.Password != ""},
		{"client_certificate", c.ClientCertificate != ""},
		{"client_key", c.ClientKey != ""},
		{"exec", c.Exec != nil},
		{"cluster_ca_certificate", c.ClusterCACertificate != ""},
		{"tls_server_name", c.TLSServerName != ""},
		{"proxy_url", c.ProxyURL != ""},
		{"insecure", c.Insecure},
	} {
		if a.set {
			return a.name
		}
	}
	return ""
}

// source is the attribute that most of the configuration comes from.
func (c Config) source() string {
	switch {
	case len(c.Paths) == 1:
		return "config_path"
	case len(c.Paths) > 1:
		return "config_paths"
	default:
		return "host"
	}
}

// kubeconfig reads and merges the named files, and checks that the context is
// there: clientcmd would otherwise go on with an empty one.
func (c Config) kubeconfig() (*clientcmdapi.Config, error) {
	if len(c.Paths) == 0 {
		return clientcmdapi.NewConfig(), nil
	}
	paths, err := c.files()
	if err != nil {
		return nil, err
	}
	raw, err := (&clientcmd.ClientConfigLoadingRules{Precedence: paths}).Load()
	if err != nil {
		return nil, &ConfigError{Attribute: c.source(), Message: fmt.Sprintf("The kubeconfig cannot be understood: %s.", err)}
	}
	name, attribute := c.Context, "config_context"
	if name == "" {
		name, attribute = raw.CurrentContext, c.source()
	}
	if _, ok := raw.Contexts[name]; !ok && (c.Context != "" || c.ContextCluster == "" && c.Host == "") {
		return nil, &ConfigError{Attribute: attribute, Message: fmt.Sprintf("The kubeconfig has no context %s: it has %s.", Shown(name), names(raw.Contexts))}
	}
	if _, ok := raw.Clusters[c.ContextCluster]; c.ContextCluster != "" && !ok {
		return nil, &ConfigError{Attribute: "config_context_cluster", Message: fmt.Sprintf("The kubeconfig has no cluster %s: it has %s.", Shown(c.ContextCluster), names(raw.Clusters))}
	}
	if _, ok := raw.AuthInfos[c.ContextAuthInfo]; c.ContextAuthInfo != "" && !ok {
		return nil, &ConfigError{Attribute: "config_context_auth_info", Message: fmt.Sprintf("The kubeconfig has no user %s: it has %s.", Shown(c.ContextAuthInfo), names(raw.AuthInfos))}
	}
	if err := c.dangling(raw, name, attribute); err != nil {
		return nil, err
	}
	return raw, nil
}

// files returns the paths of the kubeconfigs, all of which can be read.
func (c Config) files() ([]string, error) {
	paths := make([]string, len(c.Paths))
	for i, p := range c.Paths {
		path, err := ExpandPath(p)
		if err == nil {
			_, err = os.ReadFile(path)
		}
		if unreadable, is := errors.AsType[*fs.PathError](err); is {
			// The whole of it quotes the path.
			err = unreadable.Err
		}
		if err != nil {
			return nil, &ConfigError{Attribute: c.source(), Message: fmt.Sprintf("The kubeconfig %s cannot be read: %s.", Shown(p), err)}
		}
		paths[i] = path
	}
	return paths, nil
}

// dangling returns an error if a context names a cluster or a user missing from the kubeconfig.
// clientcmd would speak of an environment variable that is not read here.
func (c Config) dangling(raw *clientcmdapi.Config, name, attribute string) error {
	context := raw.Contexts[name]
	if context == nil {
		return nil
	}
	if _, ok := raw.Clusters[context.Cluster]; !ok && c.ContextCluster == "" && c.Host == "" {
		return &ConfigError{Attribute: attribute, Message: fmt.Sprintf("The context %s names the cluster %s, which the kubeconfig does not have: it has %s.", Shown(name), Shown(context.Cluster), names(raw.Clusters))}
	}
	if _, ok := raw.AuthInfos[context.AuthInfo]; !ok && context.AuthInfo != "" && c.ContextAuthInfo == "" {
		return &ConfigError{Attribute: attribute, Message: fmt.Sprintf("The context %s names the user %s, which the kubeconfig does not have: it has %s.", Shown(name), Shown(context.AuthInfo), names(raw.AuthInfos))}
	}
	return nil
}

func (c Config) overrides() (*clientcmd.ConfigOverrides, error) {
	o := &clientcmd.ConfigOverrides{CurrentContext: c.Context}
	o.Context.Cluster, o.Context.AuthInfo = c.ContextCluster, c.ContextAuthInfo
	o.ClusterInfo = clientcmdapi.Cluster{
		TLSServerName: c.TLSServerName, InsecureSkipTLSVerify: c.Insecure,
		CertificateAuthorityData: []byte(c.ClusterCACertificate), ProxyURL: c.ProxyURL,
	}
	if c.Host != "" {
		host, _, err := rest.DefaultServerURL(c.Host, "", schemeGroupVersion, c.ClusterCACertificate != "" || c.ClientCertificate != "" || c.Insecure)
		if err != nil {
			reason := err.Error()
			if strings.Contains(c.Host, "@") || IsContent(c.Host) {
				// It quotes a part, which can be a secret.
				reason = "write it as https://HOST:PORT, and credentials in username and password"
			}
			return nil, &ConfigError{Attribute: "host", Message: fmt.Sprintf("%s is not the address of an API server: %s.", Shown(withoutUserinfo(c.Host)), reason)}
		}
		o.ClusterInfo.Server = host.String()
	}
	o.AuthInfo = clientcmdapi.AuthInfo{
		ClientCertificateData: []byte(c.ClientCertificate), ClientKeyData: []byte(c.ClientKey),
		Token: c.Token, Username: c.Username, Password: c.Password,
	}
	if err := c.material(); err != nil {
		return nil, err
	}
	if c.Exec != nil {
		o.AuthInfo.Exec = &clientcmdapi.ExecConfig{
			APIVersion: c.Exec.APIVersion, Command: c.Exec.Command, Args: c.Exec.Args,
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}
		for k, v := range c.Exec.Env {
			o.AuthInfo.Exec.Env = append(o.AuthInfo.Exec.Env, clientcmdapi.ExecEnvVar{Name: k, Value: v})
		}
	}
	return o, nil
}

// material checks what client-go would find wrong only at the first request, or
// without naming the attribute.
func (c Config) material() error {
	if c.ProxyURL != "" {
		if proxy, err := url.Parse(c.ProxyURL); err != nil || proxy.Host == "" || !slices.Contains(proxySchemes, proxy.Scheme) {
			return &ConfigError{Attribute: "proxy_url", Message: fmt.Sprintf("%s is not the address of a proxy: write it with one of the schemes %s.", Shown(withoutUserinfo(c.ProxyURL)), strings.Join(proxySchemes, ", "))}
		}
	}
	if IsContent(c.TLSServerName) {
		// An error about the server's certificate would quote it.
		return &ConfigError{Attribute: "tls_server_name", Message: Shown(c.TLSServerName) + " is not the name of a server."}
	}
	if c.Exec != nil && IsContent(c.Exec.Command) {
		// So would an error of the operating system.
		return &ConfigError{Attribute: "exec", Message: Shown(c.Exec.Command) + " is not the name of a command."}
	}
	if c.ClusterCACertificate != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(c.ClusterCACertificate)) {
		return &ConfigError{Attribute: "cluster_ca_certificate", Message: "It holds no certificate in PEM: a kubeconfig's certificate-authority-data must be decoded with base64decode first."}
	}
	if c.ClientCertificate != "" && c.ClientKey != "" {
		if _, err := tls.X509KeyPair([]byte(c.ClientCertificate), []byte(c.ClientKey)); err != nil {
			return &ConfigError{Attribute: "client_certificate", Message: fmt.Sprintf("It does not match client_key: %s. Both must be in PEM: a kubeconfig's data must be decoded with base64decode first.", err)}
		}
	}
	return nil
}

// withoutUserinfo is an address as messages may print it: without the user name
// and the password before the last "@". It does not ask net/url, which takes
// "user:secret@proxy" for a scheme and a password with a slash for a path.
func withoutUserinfo(address string) string {
	at := strings.LastIndex(address, "@")
	if at < 0 {
		return address
	}
	scheme, _, found := strings.Cut(address[:at], "://")
	if !found || strings.ContainsAny(scheme, ":@/") {
		return address[at+1:]
	}
	return scheme + "://" + address[at+1:]
}

// filesNamed are the files that a kubeconfig names.
func filesNamed(raw *clientcmdapi.Config) (paths []string) {
	for _, cluster := range raw.Clusters {
		paths = append(paths, cluster.CertificateAuthority)
	}
	for _, user := range raw.AuthInfos {
		paths = append(paths, user.ClientCertificate, user.ClientKey, user.TokenFile)
	}
	return paths
}

// longest is more than paths, addresses and names of contexts have.
const longest = 255

// IsContent reports whether a value looks like the content of a file, where a path, an
// address or a name is asked for.
func IsContent(value string) bool {
	return len(value) > longest || strings.ContainsAny(value, "{}\x00") || strings.ContainsFunc(value, unicode.IsControl)
}

// Shown returns a value as messages may print it: quoted, or its length where it looks like the content
// of a file, which can hold credentials.
func Shown(value string) string {
	if IsContent(value) {
		return fmt.Sprintf("(%d characters, not shown because they look like the content of a file)", utf8.RuneCountInString(value))
	}
	return strconv.Quote(value)
}

// ExpandPath returns a path with the home directory in place of "~/" at its beginning.
func ExpandPath(path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, strings.TrimPrefix(path, "~")), nil
}
