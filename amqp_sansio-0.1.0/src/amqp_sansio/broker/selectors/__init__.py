"""Message selectors: the language of JMS 1.1 (section 3.8.1), which decides what messages a subscription receives.

`parser` reads a selector, `expressions` evaluates it, `properties` says what identifiers mean for a message.  Pure: no queue,
no session, no clock.
"""
