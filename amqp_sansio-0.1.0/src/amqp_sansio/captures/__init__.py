"""Captures of real traffic: pcap and pcapng files to packets, to TCP streams, to methods, to verdicts.

`transcript` and `verdicts` are the two ways through; both read forward once and keep no more than named limits.
"""
