package export_gatehost_verifier_about

import (
	"wit_component/gatehost"
	. "wit_component/gatehost_verifier_about"
)

// Describe is how this verifier describes itself.
func Describe() Description {
	return Description{
		Name:    "{{name}}",
		Version: "0.1.0",
		Summary: "The claim mentions every file that changed.",
		Files:   []string{},
		SettingsSchema: `{
  "type": "object",
  "properties": {
    "ignore": {
      "description": "Paths that start with this need no mention.",
      "type": "string",
      "minLength": 1
    }
  },
  "additionalProperties": false
}`,
		Rules: []Rule{
			{Code: "no-claim", Level: gatehost.LevelError, Summary: "There is no claim."},
			{Code: "not-mentioned", Level: gatehost.LevelError, Summary: "The claim does not mention a changed file."},
		},
	}
}
