"""Keys one after the other: what is typed ahead of a screen that is still opening is meant for that screen."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic

from textual.app import App
from textual.events import Event, Key, Paste

_MOST = 1.0  # seconds that a key waits for the one before it: work that never rests holds nobody up


class InTurn(App[None]):
    """Hands a key on when the one before it has come to its end.

    The library hands each key at once to what has the focus then, so that of `/word` typed quickly, or over a slow
    line, the first letters would be commands of the pane that was left.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys_ahead: deque[Event] = deque()
        self.key_under_way = False
        self._key_since = 0.0

    async def on_event(self, event: Event) -> None:
        """Take a key or a pasted text into the row; anything else at once."""
        if isinstance(event, Key | Paste) and not event.is_forwarded:
            self._keys_ahead.append(event)
            if not self.key_under_way:
                await self._next_key()
        else:
            await super().on_event(event)

    async def _next_key(self) -> None:
        self.key_under_way, self._key_since = True, monotonic()
        await super().on_event(self._keys_ahead.popleft())
        self.call_later(self._key_done)

    async def _key_done(self) -> None:
        """Hand the next one on, once no message is on its way; `call_later` lets those of the application pass."""
        await asyncio.sleep(0)  # and this those of the others
        screens = self.screen_stack[-1:]  # none when the application is being left
        nodes = (node for screen in screens for node in screen.walk_children(with_self=True))
        at_rest = not self.message_queue_size and not any(node.message_queue_size for node in nodes)
        if not at_rest and monotonic() - self._key_since < _MOST:
            self.call_later(self._key_done)
        elif self._keys_ahead:
            await self._next_key()
        else:
            self.key_under_way = False
