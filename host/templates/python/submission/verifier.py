"""{{name}}: the claim mentions every file that changed."""

import gatehost


def check(submission, settings):
    if not submission.changes:
        return gatehost.not_applicable("no file changed")
    if submission.claim is None:
        return gatehost.verdict([gatehost.error("no-claim", "there is no claim", hint="say what was done")])
    ignore = settings.get("ignore")
    findings = []
    for change in submission.changes:
        if ignore is not None and change.path.startswith(ignore):
            continue
        if change.path not in submission.claim.text:
            findings.append(
                gatehost.error(
                    "not-mentioned",
                    f"the claim does not mention `{change.path}`",
                    gatehost.place(change.path),
                    "say what was done to it, or take the change back",
                )
            )
    return gatehost.verdict(findings)


About, SubmissionVerifier = gatehost.submission_verifier(
    check,
    name="{{name}}",
    version="0.1.0",
    summary="The claim mentions every file that changed.",
    rules=[
        gatehost.rule("no-claim", "There is no claim."),
        gatehost.rule("not-mentioned", "The claim does not mention a changed file."),
    ],
    settings={
        "ignore": {
            "description": "Paths that start with this need no mention.",
            "type": "string",
            "minLength": 1,
        },
    },
)
