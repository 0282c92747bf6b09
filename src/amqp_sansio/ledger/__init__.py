"""The records of a session: what was granted, sent, completed and settled, and by which side.

They know no frames, judge nothing and emit nothing.  They take every command before it is judged; a refused one counts too.
Doubt is not loss: in doubt, some facts are unknown, no side is accused, and the entries stay; after a loss, entries are
dropped.  At a limit, the oldest entry is dropped and doubt begins.  The caller decides which commands settle a message.
"""
