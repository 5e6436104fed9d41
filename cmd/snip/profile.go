package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"snip/client"
)

// profile is a server, and the key for it.
type profile struct {
	Server   string `json:"server"`
	Key      string `json:"key,omitempty"`
	TimeZone string `json:"time_zone,omitempty"` // Empty: this machine's.
}

// zone is where times are typed and shown; nil where that is this machine's.
func (p *profile) zone() *time.Location {
	z, err := time.LoadLocation(p.TimeZone)
	if p.TimeZone == "" || err != nil {
		return nil
	}
	return z
}

// profiles is the file that profiles are saved in. It holds keys: only its owner may
// read it.
type profiles struct {
	InUse    string             `json:"in_use,omitempty"`
	Profiles map[string]profile `json:"profiles"`
}

// profilesFile is where it is; empty if nobody's home is known.
func profilesFile(environ []string) string {
	e := env.ToMap(environ)
	dir := e["XDG_CONFIG_HOME"]
	if !filepath.IsAbs(dir) { // The standard has relative ones ignored.
		if e["HOME"] == "" {
			return ""
		}
		dir = filepath.Join(e["HOME"], ".config")
	}
	return filepath.Join(dir, "snip", "profiles.json")
}

// readProfiles reads the file. Without one there are no profiles.
func readProfiles(environ []string) (profiles, error) {
	saved := profiles{Profiles: map[string]profile{}}
	name := profilesFile(environ)
	if name == "" {
		return saved, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err != nil {
		return saved, fmt.Errorf("profiles: %w", err)
	}
	defer f.Close() // Nothing was written.
	info, err := f.Stat()
	if err != nil {
		return saved, fmt.Errorf("profiles: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return saved, &hintError{fmt.Errorf("profiles: %s holds keys, and others can get at it (mode %04o)", name, mode), "chmod 600 " + name}
	}
	if err := json.NewDecoder(f).Decode(&saved); err != nil {
		// The error would quote it.
		return saved, &hintError{fmt.Errorf("profiles: %s is damaged", name), "mend it, or remove it and add your profiles again"}
	}
	if saved.Profiles == nil {
		saved.Profiles = map[string]profile{}
	}
	return saved, nil
}

// write puts a new file in the place of the old one.
func (s profiles) write(environ []string) (err error) {
	name := profilesFile(environ)
	if name == "" {
		return &hintError{errors.New("profiles: there is no directory to keep them in"), "set HOME or XDG_CONFIG_HOME"}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	f, err := os.CreateTemp(dir, ".profiles-*") // Its mode is 0600.
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("profiles: %w", errors.Join(err, os.Remove(f.Name())))
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("profiles: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// chosenProfile returns the profile of a name, or the one in use if it is empty; nil if
// none is.
func chosenProfile(environ []string, name string) (*profile, error) {
	saved, err := readProfiles(environ)
	if err != nil {
		return nil, err
	}
	if name = cmp.Or(name, saved.InUse); name == "" {
		return nil, nil
	}
	p, ok := saved.Profiles[name]
	if !ok {
		return nil, noProfile(name)
	}
	return &p, nil
}

func noProfile(name string) error {
	return &hintError{fmt.Errorf("there is no profile %q", name), `"snip profile ls" lists them, "snip profile add" saves one`}
}

func newProfile(environ []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Save servers and the keys for them",
		Long: `Save servers and the keys for them, in $XDG_CONFIG_HOME/snip/profiles.json, which only
you can read. The profile in use is where commands go that name no server, by --server,
--profile or SNIP_SERVER.`,
		Example: "  snip profile add work --server https://snip.example --key-file -",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newProfileAdd(environ), newProfileList(environ), newProfileUse(environ), newProfileRemove(environ))
	return cmd
}

func newProfileAdd(environ []string) *cobra.Command {
	var p profile
	var keyFile string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Save a server and its key, in the place of what had the name before; the first one is in use at once",
		Example: `  snip profile add work --server https://snip.example --key-file -
  snip profile add home --server http://127.0.0.1:8080 --key-file key.txt --zone Europe/Berlin`,
		Args: oneArg("snip profile add work --server https://snip.example --key-file -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" || strings.ContainsFunc(args[0], func(r rune) bool { return r <= ' ' || r == 0x7f }) {
				return &usageError{errors.New("a profile needs a name without spaces")}
			}
			var err error
			if keyFile != "" {
				if p.Key, err = readKey(cmd, keyFile); err != nil {
					return err
				}
			}
			if p.TimeZone != "" {
				if _, err := parseZone(p.TimeZone); err != nil {
					return &usageError{fmt.Errorf("--zone: %w", err)}
				}
			}
			if _, err := client.New(client.Config{Server: p.Server, Key: p.Key}); err != nil {
				return &hintError{&usageError{fmt.Errorf("--server or the key: %w", err)}, "snip profile add work --server https://snip.example --key-file -"}
			}
			saved, err := readProfiles(environ)
			if err != nil {
				return err
			}
			if len(saved.Profiles) == 0 {
				saved.InUse = args[0]
			}
			saved.Profiles[args[0]] = p
			return saved.write(environ)
		},
	}
	cmd.Flags().StringVar(&p.Server, "server", "", "the server, such as https://snip.example")
	cmd.Flags().StringVar(&keyFile, "key-file", "", "a file that holds the key, or - for the input")
	cmd.Flags().StringVar(&p.TimeZone, "zone", "", "time zone of times that you type, such as Europe/Berlin; this machine's if it is left out")
	return cmd
}

func newProfileList(environ []string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the profiles, the one in use with a star",
		Example: "  snip profile ls --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			saved, err := readProfiles(environ)
			if err != nil {
				return err
			}
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			if !asJSON {
				fmt.Fprintln(t, "  NAME\tSERVER\tKEY\tTIME ZONE")
			}
			for _, name := range slices.Sorted(maps.Keys(saved.Profiles)) {
				p := saved.Profiles[name]
				if asJSON {
					err := printJSON(cmd.OutOrStdout(), struct {
						Name     string `json:"name"`
						Server   string `json:"server"`
						Key      string `json:"key"`
						TimeZone string `json:"time_zone"`
						InUse    bool   `json:"in_use"`
					}{name, p.Server, maskKey(p.Key), p.TimeZone, name == saved.InUse})
					if err != nil {
						return err
					}
					continue
				}
				star := " "
				if name == saved.InUse {
					star = "*"
				}
				fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\n", star, printable(name), printable(p.Server), cmp.Or(maskKey(p.Key), "-"), cmp.Or(printable(p.TimeZone), "-"))
			}
			return t.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func newProfileUse(environ []string) *cobra.Command {
	return changeProfiles(environ, "use NAME", "Have commands go to a profile that name no server", "snip profile use work",
		func(saved *profiles, name string) { saved.InUse = name })
}

func newProfileRemove(environ []string) *cobra.Command {
	return changeProfiles(environ, "rm NAME", "Forget a profile and its key", "snip profile rm work",
		func(saved *profiles, name string) {
			delete(saved.Profiles, name)
			if saved.InUse == name {
				saved.InUse = ""
			}
		})
}

// changeProfiles makes a command that changes something of a profile that is there.
func changeProfiles(environ []string, use, short, example string, change func(*profiles, string)) *cobra.Command {
	return &cobra.Command{
		Use:     use,
		Short:   short,
		Example: "  " + example,
		Args:    oneArg(example),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			saved, err := readProfiles(environ)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return slices.Sorted(maps.Keys(saved.Profiles)), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			saved, err := readProfiles(environ)
			if err != nil {
				return err
			}
			if _, ok := saved.Profiles[args[0]]; !ok {
				return noProfile(args[0])
			}
			change(&saved, args[0])
			return saved.write(environ)
		},
	}
}

// maskKey tells that there is a key and nothing of it.
func maskKey(key string) string {
	if key == "" {
		return ""
	}
	return "snip_…"
}
