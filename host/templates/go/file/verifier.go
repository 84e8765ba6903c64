// {{name}}: no text contains a word that marks unfinished work.
package export_gatehost_verifier_file_verifier

import (
	"fmt"
	"strings"

	"wit_component/gatehost"
	. "wit_component/gatehost_verifier_file_verifier"
)

type settings struct {
	Word string `json:"word"`
}

// Check judges one file.
func Check(file File, said string) gatehost.Verdict {
	if file.Content.Tag() != ContentText {
		return gatehost.Abstain("the file is not UTF-8 text")
	}
	text := file.Content.Text()
	word := gatehost.Settings(said, settings{Word: "TODO"}).Word
	findings := []gatehost.Finding{}
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return gatehost.Of(findings)
		}
		found := gatehost.Error("word-found", fmt.Sprintf("found `%s`", word), "finish it, or take it out")
		findings = append(findings, gatehost.AtOffset(found, file.Path, text, from+at))
		from += at + len(word)
	}
}
