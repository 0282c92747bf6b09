"""The books of a session, in the third person: what was granted, sent, completed and settled, and by which side.

They know no frames, judge nothing and emit nothing.  They take every word before it is judged; a refused word counts too. Doubt
is not loss: in doubt, some facts are unknown, no side is accused, and the entries stay; after a loss, entries are dropped.  At
a limit the oldest entry is dropped and the book is in doubt.  The caller decides which words settle a message.
"""
