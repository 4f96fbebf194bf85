"""The way through the house: read, contracts, replay, rules, findings.

`audit_partition` is a pure function of the recorded frames of whole sessions; `audit` reads, calls it for every
partition, and puts the answers together. Whatever runs on more than one core or machine calls the same function, and
`audit_large` for a session that is too large to be looked at whole.
"""

from analyzer.auditing.on_disk import OnDisk
from analyzer.auditing.outcome import Audit, open_audit
from analyzer.auditing.partition import Answer, audit_partition, conclude
from analyzer.auditing.run import audit, chosen, contracts_given
from analyzer.auditing.together import gathered, held_to
from analyzer.auditing.windows import audit_large

__all__ = [
    "Answer",
    "Audit",
    "OnDisk",
    "audit",
    "audit_large",
    "audit_partition",
    "chosen",
    "conclude",
    "contracts_given",
    "gathered",
    "held_to",
    "open_audit",
]
