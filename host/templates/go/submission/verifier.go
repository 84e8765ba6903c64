// {{name}}: the claim mentions every file that changed.
package export_gatehost_verifier_submission_verifier

import (
	"fmt"
	"strings"

	"wit_component/gatehost"
	"wit_component/gatehost_verifier_submission"
)

type settings struct {
	Ignore *string `json:"ignore"`
}

// Check judges one submission.
func Check(submission gatehost_verifier_submission.Submission, said string) gatehost.Verdict {
	if len(submission.Changes) == 0 {
		return gatehost.NotApplicable("no file changed")
	}
	if !submission.Claim.IsSome() {
		return gatehost.Of([]gatehost.Finding{gatehost.Error("no-claim", "there is no claim", "say what was done")})
	}
	claim := submission.Claim.Some().Text
	ignore := gatehost.Settings(said, settings{}).Ignore
	findings := []gatehost.Finding{}
	for _, change := range submission.Changes {
		if ignore != nil && strings.HasPrefix(change.Path, *ignore) || strings.Contains(claim, change.Path) {
			continue
		}
		message := fmt.Sprintf("the claim does not mention `%s`", change.Path)
		missing := gatehost.Error("not-mentioned", message, "say what was done to it, or take the change back")
		findings = append(findings, gatehost.AtFile(missing, change.Path))
	}
	return gatehost.Of(findings)
}
