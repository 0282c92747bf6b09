"""Captures of real traffic: from pcap and pcapng files to packets, TCP streams, methods and verdicts.

`transcript` and `verdicts` are the two entry points; both read forward once, in memory bounded by named limits.
"""
