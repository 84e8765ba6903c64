package export_gatehost_verifier_about

import . "wit_component/gatehost_verifier_about"

// Describe says what this verifier is.
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
	}
}
