"""The books of a session, kept once and in the third person: who granted, sent, completed and settled what.

They know no octets of frames, give no verdicts and emit nothing.  They take every word before anybody judges it: a refused word
counts.  Doubt is not loss: in doubt some of it is not known, nobody is held to anything, and the entries stay;
what is lost is forgotten.  At a bound the oldest entry goes and the book is in doubt.  What makes a message settled, and by
which words, the caller decides.
"""
