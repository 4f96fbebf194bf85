"""A session too large to be looked at whole: judged window by window, each with what the others hold of its calls.

`index` goes through the session once and says where it is cut and which rows hang together across the cuts, `windows`
writes the windows to disk, `audit` judges them one after the other, and `ending` puts their answers together and looks
once more at what only the whole session shows.
"""

from analyzer.auditing.windows.audit import audit_large

__all__ = ["audit_large"]
