"""Message selectors: the language of JMS 1.1 (section 3.8.1), which determines the messages that a subscription gets.

`parser` parses a selector, `expressions` evaluates it, `properties` maps identifiers to the properties of a message.  Pure: no
queue, no session, no clock.
"""
