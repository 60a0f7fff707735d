// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"os"
	"testing"
)

func TestDropUnreadLogs(t *testing.T) {
	for name, tt := range map[string]struct {
		env      map[string]string
		sdk, own string
		parts    string
	}{
		"no log is read":                               {nil, "OFF", "OFF", "OFF"},
		"the command line logs":                        {map[string]string{"TF_LOG": "INFO"}, "", "", ""},
		"the command line logs what providers log":     {map[string]string{"TF_LOG_PROVIDER": "WARN"}, "", "", ""},
		"the command line logs what it does itself":    {map[string]string{"TF_LOG_CORE": "TRACE"}, "OFF", "OFF", "OFF"},
		"the command line's logs are turned off":       {map[string]string{"TF_LOG": "off", "TF_LOG_PROVIDER": "OFF"}, "OFF", "OFF", "OFF"},
		"a level of the libraries, for the debugger":   {map[string]string{"TF_LOG_SDK": "TRACE"}, "TRACE", "OFF", ""},
		"a level of this provider, for the debugger":   {map[string]string{"TF_LOG_PROVIDER_KUBETAINT": "DEBUG"}, "OFF", "DEBUG", "OFF"},
		"all logs are on, and this provider's are off": {map[string]string{"TF_LOG": "TRACE", "TF_LOG_PROVIDER_KUBETAINT": "OFF"}, "", "OFF", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"TF_LOG", "TF_LOG_PROVIDER", "TF_LOG_CORE", "TF_LOG_SDK", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_SDK_PROTO", "TF_LOG_PROVIDER_KUBETAINT"} {
				t.Setenv(variable, tt.env[variable])
			}
			DropUnreadLogs()
			if sdk, own := os.Getenv("TF_LOG_SDK"), os.Getenv("TF_LOG_PROVIDER_KUBETAINT"); sdk != tt.sdk || own != tt.own {
				t.Errorf("the level of the libraries is %q and that of the provider %q, want %q and %q", sdk, own, tt.sdk, tt.own)
			}
			for _, part := range []string{"TF_LOG_SDK_FRAMEWORK", "TF_LOG_SDK_PROTO"} {
				if level := os.Getenv(part); level != tt.parts {
					t.Errorf("%s is %q, want %q", part, level, tt.parts)
				}
			}
		})
	}
}
