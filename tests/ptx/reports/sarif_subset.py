# SPDX-License-Identifier: MIT
"""The rules of SARIF 2.1.0 for the properties in use, and GitHub's for those that it needs, written for the tests.

No other properties are allowed; GitHub's code scanning reads some of them.
"""


def _object(required, **properties):
    return {
        "type": "object", "additionalProperties": False, "required": list(required.split()), "properties": properties
    }  # fmt: skip


TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = _object("text", text=TEXT, markdown=TEXT)
PHYSICAL = _object(
    "artifactLocation region",
    artifactLocation=_object(
        "uri", uri={"type": "string", "pattern": r"^[^\s\\]+$"}, uriBaseId={"const": "%SRCROOT%"}
    ),
    region=_object(
        "startLine startColumn", startLine=COUNT, startColumn=COUNT, endLine=COUNT, endColumn=COUNT,
        snippet=_object("text", text={"type": "string"}),
    ),
)  # fmt: skip
LOGICAL = _object("name fullyQualifiedName kind", name=TEXT, fullyQualifiedName=TEXT, kind={"const": "function"})
RULE = _object(
    "id name shortDescription fullDescription help defaultConfiguration properties",
    id={"type": "string", "pattern": "^[a-z-]+$"}, name={"type": "string", "pattern": "^[A-Za-z]+$"},
    shortDescription=_object("text", text={"type": "string", "maxLength": 1024}),
    fullDescription=_object("text", text={"type": "string", "maxLength": 1024}), help=MESSAGE,
    defaultConfiguration=_object("level", level=LEVEL), helpUri=TEXT, properties={"type": "object"},
)  # fmt: skip
RESULT = _object(
    "ruleId ruleIndex level message locations partialFingerprints suppressions",
    ruleId=TEXT, ruleIndex={"type": "integer", "minimum": 0}, level=LEVEL, message=MESSAGE,
    locations={
        "type": "array", "minItems": 1, "maxItems": 1,
        "items": _object("logicalLocations", physicalLocation=PHYSICAL,
                         logicalLocations={"type": "array", "items": LOGICAL}),
    },
    relatedLocations={
        "type": "array", "minItems": 1,
        "items": _object("id physicalLocation message", id=COUNT, physicalLocation=PHYSICAL, message=MESSAGE),
    },
    partialFingerprints={"type": "object", "required": ["primaryLocationLineHash"], "additionalProperties": TEXT},
    occurrenceCount=COUNT, baselineState={"enum": ["new", "unchanged", "updated", "absent"]},
    suppressions={
        "type": "array", "maxItems": 1,
        "items": _object("kind", kind={"enum": ["inSource", "external"]}, status={"const": "accepted"},
                         justification=TEXT),
    },
    properties={"type": "object"},
)  # fmt: skip
DRIVER = _object("name semanticVersion rules", name=TEXT, semanticVersion=TEXT, rules={"type": "array", "items": RULE})
RUN = _object(
    "tool results columnKind originalUriBaseIds",
    tool=_object("driver", driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    originalUriBaseIds={
        "type": "object",
        "additionalProperties": _object("uri", uri={"type": "string", "pattern": "^file:///.*/$"}),
    },
    results={"type": "array", "maxItems": 25000, "items": RESULT},
)
LOG = _object("$schema version runs", **{
    "$schema": TEXT, "version": {"const": "2.1.0"},
    "runs": {"type": "array", "minItems": 1, "maxItems": 20, "items": RUN},
})  # fmt: skip
