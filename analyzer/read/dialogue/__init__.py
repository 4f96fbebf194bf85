"""Conversations as models are asked: every request holds all messages so far, and every reply adds one.

Adapters say what a message holds (`Said`); here it is told what of a request was sent before, which conversation it
continues, and which call and which result each sighting shows. What was sent before is passed over; what comes back in
a later request is a copy (stage history). Where a wire has no ids, results find their calls by order and name.
"""

from analyzer.read.dialogue.made import Made, Unrun
from analyzer.read.dialogue.requests import Dialogue
from analyzer.read.dialogue.said import Ask, Call, Result, Said, unchosen

__all__ = ["Ask", "Call", "Dialogue", "Made", "Result", "Said", "Unrun", "unchosen"]
