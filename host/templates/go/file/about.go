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
		Summary: "No text contains a word that marks unfinished work.",
		Files:   []string{"**/*.md", "**/*.txt"},
		SettingsSchema: `{
  "type": "object",
  "properties": {
    "word": {
      "description": "The word that no file may contain.",
      "type": "string",
      "minLength": 1,
      "default": "TODO"
    }
  },
  "additionalProperties": false
}`,
		Rules: []Rule{
			{Code: "word-found", Level: gatehost.LevelError, Summary: "A text contains the word."},
		},
	}
}
