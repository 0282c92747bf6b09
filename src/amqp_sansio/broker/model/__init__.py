"""The model of a broker: virtual hosts with exchanges, queues, bindings and messages, independent of sessions and encodings."""
